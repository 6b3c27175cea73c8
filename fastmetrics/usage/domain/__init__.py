"""What the users of a knowledge base ask: words, languages, repetitions, times."""
