"""Kernels of ranked lists of ids."""
