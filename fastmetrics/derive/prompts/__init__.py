"""Rubrics, and the prompts made from rows."""
