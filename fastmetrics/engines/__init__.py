"""Drivers of the scoring function over a data set."""
