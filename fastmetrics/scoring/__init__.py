"""The main jobs: score a table, score files, call one metric, profile a run."""
