"""Runs against judgements, as trec_eval does: measures by name, files of any size, ``fm.rank``."""
