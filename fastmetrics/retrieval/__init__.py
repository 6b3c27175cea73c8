"""Evaluation of rankings against judgements: ids, measures, ``fm.rank``."""
