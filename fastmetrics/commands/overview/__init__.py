"""The commands that show the scores of one or several runs."""
