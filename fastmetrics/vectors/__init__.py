"""Embeddings as arrays: reading, geometry of the space, pairs and moments, indexes, models, cache."""

from fastmetrics.base.public_names import exports

__getattr__, __dir__ = exports(__name__)
