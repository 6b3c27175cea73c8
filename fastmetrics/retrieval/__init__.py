"""Rankings against judgements: ids, measures, runs, ``fm.rank``."""
