"""Compiled functions: flat arrays in, flat arrays out; they count, and never divide."""
