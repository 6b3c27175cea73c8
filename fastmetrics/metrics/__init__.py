"""The metrics: the decorator, the plan of a run, and one file for each family."""
