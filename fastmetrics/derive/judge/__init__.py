"""Judges: a model that rates rows by rubrics."""
