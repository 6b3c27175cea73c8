"""Scores against the labels of people: validation, the quality of judges, estimates, rows to label."""
