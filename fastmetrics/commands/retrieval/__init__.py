"""The commands that evaluate search runs."""
