"""Which chunks of a knowledge base the rankings of a log use."""
