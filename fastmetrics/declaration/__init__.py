"""Declaration of metrics: a batch of rows, its representations, and the decorator."""
