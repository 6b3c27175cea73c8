"""Running makers of columns over a data set."""
