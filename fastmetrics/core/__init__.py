"""What every room stands on: arrays, threads, counts of a whole table."""
