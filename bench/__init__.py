"""What the benchmarks are made of: rows to score, what else could score them, and how the two are timed."""
