"""FAISS indexes of the kinds that ``neighbors`` offers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from fastmetrics.vectors.search.search_space import Space
from fastmetrics.vectors.vector_arrays import Ids

BATCH = 4096
_PER_CELL = 16  # training rows per IVF cell; more do not improve the recall


def flat(space: Space) -> Any:
    """An empty flat index, which compares a query with every row."""
    return faiss.IndexFlatIP(space.vectors.dim) if space.metric == "dot" else faiss.IndexFlatL2(space.vectors.dim)


def filled(space: Space, rows: Ids, settings: dict[str, Any]) -> Any:
    """A trained FAISS index holding the kept rows."""
    index: Any
    dim, method = space.vectors.dim, str(settings["method"])
    measure = faiss.METRIC_INNER_PRODUCT if space.metric == "dot" else faiss.METRIC_L2
    cells = int(2 ** np.clip(np.round(np.log2(4 * np.sqrt(max(len(rows), 1)))), 0, 16))
    cells = max(1, min(cells, len(rows) // 8))
    if method == "exact" or len(rows) < 64:
        index = flat(space)
    elif method == "hnsw":
        index = faiss.index_factory(dim, "HNSW32", measure)
        index.hnsw.efConstruction = 80
    else:
        code = f"PQ{(dim + 1) // 2}x4fs" if method == "pq" and dim % 2 == 0 else "SQfp16"
        index = faiss.index_factory(dim, f"IVF{cells},{code}", measure)
        index.cp.seed = int(settings["seed"])
        index.cp.max_points_per_centroid = _PER_CELL
        index.cp.min_points_per_centroid, index.cp.niter = 1, 5
        if method == "pq" and dim % 2 == 0:
            index.pq.cp.niter = 8
        rng = np.random.default_rng(int(settings["seed"]))
        chosen = np.sort(rng.choice(rows, min(len(rows), max(cells * _PER_CELL, 8192)), replace=False))
        index.train(space.points(chosen).rows)
    for start in range(0, len(rows), 16 * BATCH):
        index.add(space.points(rows[start : start + 16 * BATCH]).rows)
    return index


@contextmanager
def faiss_threads(threads: int, build_alone: bool = False) -> Iterator[None]:
    """Set the number of FAISS threads; a graph is built by one, because its edges depend on the order of insertion."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1 if build_alone else threads)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def write_index(index: Any, path: Path) -> str:
    """Write an index to a file; return the SHA-256 of its bytes, an argument of :func:`read_index`."""
    faiss.write_index(index, str(path))
    return _digest(path)


def read_index(path: Path, digest: str) -> Any:
    """The index in a file that :func:`write_index` wrote.

    FAISS trusts the sizes and ids in a file, so damaged bytes can crash the process: the digest is compared first.
    Raises ``ValueError`` if the file has another digest.
    """
    if _digest(path) != digest:
        raise ValueError(f"{path.name} is damaged: its SHA-256 differs from settings.json; build the index again")
    return faiss.read_index(str(path))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
