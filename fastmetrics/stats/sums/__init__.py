"""Exact sums and percentiles of columns, in any order and split of rows."""
