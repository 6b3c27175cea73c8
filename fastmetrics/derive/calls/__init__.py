"""Calls of models: what is sent, within which limits, and what is spent."""
