"""Embeddings of texts: models, their cache, columns of vectors."""
