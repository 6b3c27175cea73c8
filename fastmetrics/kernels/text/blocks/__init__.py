"""Instructions on blocks of bytes: comparisons, letters and heads of words in registers."""
