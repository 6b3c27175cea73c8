"""Main entry points: score a table, score files, call one metric, profile a run."""

from fastmetrics.base.public_names import exports

__getattr__, __dir__ = exports(__name__)
