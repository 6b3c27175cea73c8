"""Evaluation of rankings against judgements: ids, measures, runs, ``fm.rank``."""
