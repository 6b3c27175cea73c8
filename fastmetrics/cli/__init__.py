"""The fastmetrics program: commands, their options, and what surrounds every command."""
