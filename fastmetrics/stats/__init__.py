"""Statistics of score columns: exact sums and percentiles, tests, agreement of people, association with labels."""

from fastmetrics.base.public_names import exports

__getattr__, __dir__ = exports(__name__)
