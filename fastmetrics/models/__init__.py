"""New columns from calls of models: judges, bots and embeddings; one client, one store."""

from fastmetrics.base.public_names import exports

__getattr__, __dir__ = exports(__name__)
