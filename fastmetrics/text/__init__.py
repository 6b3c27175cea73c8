"""Strings to tokens."""
