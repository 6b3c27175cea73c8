"""What a run of metrics is planned from, how a batch is scored by a plan, and what is noted and stored of it."""
