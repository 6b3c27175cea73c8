"""The commands that score a table."""
