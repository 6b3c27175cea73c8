"""Kernels that normalise, split and search text."""
