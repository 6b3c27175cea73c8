"""Faults of a data set."""
