"""Engines that run the scoring function over a data set."""
