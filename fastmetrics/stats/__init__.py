"""Statistics of score columns: exact sums and percentiles, tests, agreement of people, association with labels."""
