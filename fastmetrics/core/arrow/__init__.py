"""Arrow data: checks of its buffers, its types, and its numbers as NumPy arrays."""
