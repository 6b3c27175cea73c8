"""Tests of differences between systems, and the size of experiments."""
