"""Embeddings as arrays: reading, geometry of the space, pairs and moments, indexes, models, cache."""
