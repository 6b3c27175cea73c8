"""Questions that say nearly the same as another one, by the cosine of their embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.vectors.embedder import Embedder
from fastmetrics.vectors.neighbors import nearest


def embedder_of(embedder: Any, cache: Any = None) -> Embedder:
    """The embedder that is meant by a name, a function or a model."""
    return embedder if isinstance(embedder, Embedder) else Embedder(embedder, cache=cache)


def near_repeats(questions: pa.Array, embedder: Embedder, near: float, threads: int) -> int:
    """How many of the questions, all of them different, have another one at a cosine of at least ``near``."""
    vectors = embedder.embed(questions)
    given = np.isfinite(vectors).all(axis=1) & (vectors != 0).any(axis=1)
    vectors = vectors[given]
    if len(vectors) < 2:
        return 0
    found = nearest(vectors, k=1, method="exact", threads=threads)
    return int((found.scores[:, 0] >= near).sum())
