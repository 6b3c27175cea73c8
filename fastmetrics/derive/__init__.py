"""New columns from slow, fallible or paid calls: judges, bots and embeddings."""
