"""The names of input columns, of a judge's columns and of the public functions; lists of names."""
