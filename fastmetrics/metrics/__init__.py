"""The metrics: the decorator, their names, and one file for each family."""

from fastmetrics.base.public_names import exports

__getattr__, __dir__ = exports(__name__)
