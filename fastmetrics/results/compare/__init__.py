"""Comparing systems by their scores, and planning such comparisons."""
