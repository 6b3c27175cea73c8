"""Kernels of vectors."""
