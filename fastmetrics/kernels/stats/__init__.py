"""Kernels of statistics: exact sums, resampling, concordant pairs."""
