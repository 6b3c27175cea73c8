"""Engines that run the scoring function over a data set."""

from fastmetrics.base.public_names import exports

__getattr__, __dir__ = exports(__name__)
