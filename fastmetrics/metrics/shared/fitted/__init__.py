"""Fitted scores: their model and their file."""
