"""The rows of runs: pairs by id, repeated answers, segments, reasons for missing scores."""
