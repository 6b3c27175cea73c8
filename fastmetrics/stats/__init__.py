"""Statistics of score columns: exact sums and percentiles, agreement of people, association with their labels."""
