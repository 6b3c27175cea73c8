"""Compiled functions: they take and return flat arrays of counts and sums."""
