"""Kernels that compare pairs of token lists."""
