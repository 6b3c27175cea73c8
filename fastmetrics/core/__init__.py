"""Basic modules that all other packages use: arrays, threads, counts of a whole table."""
