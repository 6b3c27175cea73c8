"""Main entry points: score a table, score files, call one metric, profile a run."""
