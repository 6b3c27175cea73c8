"""The commands on embeddings."""
