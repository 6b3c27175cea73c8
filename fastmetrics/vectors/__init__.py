"""Embeddings as arrays: reading them, the space they lie in, their pairs and moments, indexes, models, the cache."""
