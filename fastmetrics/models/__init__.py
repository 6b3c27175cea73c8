"""New columns from calls of models: judges, bots and embeddings; one client, one store."""
