"""FAQ lookup: the matcher, and the bot that returns its answers."""
