"""Kernels that read text: fold it, cut it, look it up."""
