"""k-means of unit vectors: centres from a sample by FAISS, then all rows in one pass; independent of threads."""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np

from fastmetrics.base.arrays import Ints
from fastmetrics.base.threads import ordered
from fastmetrics.usage.log import Units
from fastmetrics.vectors.faiss_search import faiss_threads
from fastmetrics.vectors.vector_arrays import one_blas_thread

ROUNDS = 25
TRIES = 5
SAMPLE = 50_000
_BLOCK = 8_192


def clusters(units: Units, k: int, seed: int, threads: int, sample: int = SAMPLE) -> tuple[Ints, Units]:
    """The number of each row's centre, and the centres: the best of several runs by distance to their rows.

    The centres come from a uniform sample of at most ``sample`` rows.  If there are fewer than ``k`` distinct rows,
    each is a centre.
    """
    rng = np.random.default_rng(seed)
    some = units if len(units) <= sample else units[np.sort(rng.choice(len(units), sample, replace=False))]
    distinct = np.unique(some, axis=0)
    centres = distinct if len(distinct) <= k else _trained(some, k, seed)
    return assigned(units, centres, threads), centres


def _trained(rows: Units, k: int, seed: int) -> Units:
    options: dict[str, Any] = {"niter": ROUNDS, "nredo": TRIES, "seed": seed, "min_points_per_centroid": 1}
    means: Any = faiss.Kmeans(rows.shape[1], k, max_points_per_centroid=len(rows), **options)
    with faiss_threads(1), one_blas_thread():
        means.train(np.ascontiguousarray(rows))
    return np.asarray(means.centroids, np.float32)


def assigned(units: Units, centres: Units, threads: int) -> Ints:
    """The nearest centre of each row by Euclidean distance; ties go to the first."""
    halves = 0.5 * np.einsum("ij,ij->i", centres, centres)

    def block(start: int) -> Ints:
        return (units[start : start + _BLOCK] @ centres.T - halves).argmax(axis=1).astype(np.int64)

    with one_blas_thread():
        blocks = list(ordered(block, range(0, len(units), _BLOCK), threads))
    return np.concatenate([np.zeros(0, np.int64), *blocks])
