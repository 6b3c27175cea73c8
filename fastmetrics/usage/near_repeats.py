"""Near-duplicate questions, by the cosine of their embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fastmetrics.core.arrays import Ints
from fastmetrics.vectors.embedding.embedder import Embedder
from fastmetrics.vectors.search.neighbors import nearest


def near_repeats(questions: pa.Array, embedder: Embedder, near: float, threads: int) -> int:
    """Number of the distinct questions that have another one at a cosine of at least ``near``."""
    return len(near_pairs(questions, embedder, near, threads)[0])


def near_pairs(
    questions: pa.Array, embedder: Embedder, near: float, threads: int
) -> tuple[Ints, Ints, NDArray[np.floating[Any]]]:
    """The questions that have another one at a cosine of at least ``near``, the nearest other one, and the cosine."""
    vectors = embedder.embed(questions)
    valid = np.flatnonzero(np.isfinite(vectors).all(axis=1) & (vectors != 0).any(axis=1))
    if len(valid) < 2:
        return valid[:0], valid[:0], np.zeros(0)
    neighbors = nearest(vectors[valid], k=1, method="exact", threads=threads)
    close = np.flatnonzero(neighbors.scores[:, 0] >= near)
    return valid[close], valid[neighbors.ids[close, 0]], neighbors.scores[close, 0]
