"""Questions against a FAQ: the matcher, and the bot that answers from it."""
