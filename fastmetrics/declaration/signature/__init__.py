"""Reading the signature of a metric: columns, representations, options, references."""
