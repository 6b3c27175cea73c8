"""The commands that evaluate rankings."""
