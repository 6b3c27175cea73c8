"""Topics of the questions of a log, and gaps of the knowledge base."""
