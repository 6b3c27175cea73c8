"""The commands that analyse logs."""
