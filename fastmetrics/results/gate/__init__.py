"""Checking scores against rules."""
