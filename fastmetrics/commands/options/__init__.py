"""Options of several commands, and how they are read."""
