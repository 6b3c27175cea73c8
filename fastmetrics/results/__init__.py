"""Working with scores: summaries, comparisons, agreement with people."""
