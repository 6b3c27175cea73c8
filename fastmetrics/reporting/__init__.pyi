"""Written by scripts/docs.py from the declarations; edit those."""

from fastmetrics.reporting.evaluate_rag import ChunkSettings as ChunkSettings
