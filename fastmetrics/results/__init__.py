"""Working with scores: summaries, comparisons, agreement with people."""

from fastmetrics.base.public_names import exports

__getattr__, __dir__ = exports(__name__)
