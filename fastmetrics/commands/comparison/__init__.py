"""The commands that compare runs, check them against rules, and validate scores."""
