"""Search by FAISS: its kinds of indexes, and their candidates ranked by exact distances."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from fastmetrics.base.threads import ordered
from fastmetrics.vectors.pair_scan import SPARE, Floats, Space, norms_of, settled
from fastmetrics.vectors.vector_arrays import Ids, Vectors

# FAISS indexes of the kinds that ``neighbors`` offers.


_BATCH = 16_384
_PER_CELL = 16  # training rows per IVF cell; more do not improve the recall


def rows_of(space: Space) -> Ids:
    """The finite rows of a space that have a direction, if directions are compared: those of its index, in order."""
    norms = space.norms[space.rows]
    return space.rows[(norms > 0) | (space.metric != "cosine")]


def filled(space: Space, method: str, seed: int) -> Any:
    """A trained FAISS index of a space."""
    index: Any
    rows, dim = rows_of(space), space.vectors.dim
    measure = faiss.METRIC_INNER_PRODUCT if space.metric == "dot" else faiss.METRIC_L2
    if method == "exact" or len(rows) < 64:
        index = faiss.IndexFlat(dim, measure)
    elif method == "hnsw":
        index = faiss.index_factory(dim, "HNSW32", measure)
        index.hnsw.efConstruction = 80
    else:
        cells = int(2 ** min(np.round(np.log2(4 * np.sqrt(len(rows)))), 16))
        cells = max(1, min(cells, len(rows) // 8))
        code = f"PQ{dim // 2}x4fs" if method == "pq" and dim % 2 == 0 else "SQfp16"
        index = faiss.index_factory(dim, f"IVF{cells},{code}", measure)
        index.cp.seed = seed
        index.cp.max_points_per_centroid = _PER_CELL
        index.cp.min_points_per_centroid, index.cp.niter = 1, 5
        if "PQ" in code:
            index.pq.cp.niter = 8
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.choice(rows, min(len(rows), max(cells * _PER_CELL, 8192)), replace=False))
        index.train(space.points(chosen).rows)
    for start in range(0, len(rows), _BATCH):
        index.add(space.points(rows[start : start + _BATCH]).rows)
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


# Searching a FAISS index: candidates by its codes, ranked by exact distances.


EFFORT = 1
"""The effort that a search begins with: inverted lists that are visited, an eighth of a graph's candidates."""
_BLOCK = 1024
_MOST_CANDIDATES = 4096
_FAISS: Any = faiss  # its stubs lack the search parameters


@dataclass(frozen=True, eq=False)
class Seeker:
    """A FAISS index of the finite rows of a space that have a direction."""

    space: Space
    index: Any
    method: str

    @cached_property
    def rows(self) -> Ids:
        """The rows of the index, in its order."""
        return rows_of(self.space)

    @cached_property
    def zeros(self) -> Ids:
        """The rows outside the index: zero vectors, all at one cosine distance."""
        return np.setdiff1d(self.space.rows, self.rows)

    @property
    def most(self) -> int:
        """The largest effort."""
        return int(getattr(self.index, "nlist", len(self.rows)))

    def search(self, queries: Vectors, own: Ids | None, k: int, effort: int, threads: int) -> tuple[Ids, Floats]:
        """The k nearest of each row of ``queries``, by exact distances; the result of row r excludes row ``own[r]``."""
        refine = max(4, min(effort // 2, _MOST_CANDIDATES // k)) if self.method == "pq" else 1
        width = min(refine * k + SPARE + (own is not None), len(self.rows))
        flat = isinstance(self.index, faiss.IndexFlat) and width < len(self.rows)
        excluded = np.full(queries.rows, -1) if own is None else own
        ids, distances = np.empty((queries.rows, k), np.int64), np.empty((queries.rows, k))

        def part(start: int) -> None:
            faiss.omp_set_num_threads(1)  # for this thread only, because the blocks run in parallel
            here = slice(start, min(start + _BLOCK, queries.rows))
            block = queries.block(here.start, here.stop)
            far, near = self._candidates(self.space.queries(block).rows, width, effort)
            if self.space.metric != "euclidean":
                near[norms_of(block) == 0] = np.arange(width)  # all rows are equally far from a zero vector
            extra = np.broadcast_to(self.zeros[: k + 1], (len(block), len(self.zeros[: k + 1])))
            candidates = np.hstack([np.append(self.rows, -1)[near], extra])
            edge = (-far if self.space.metric == "dot" else 0.5 * far)[:, -1] if flat else None
            ids[here], distances[here] = settled(self.space, block, excluded[here], candidates, edge, k)

        list(ordered(part, range(0, queries.rows, _BLOCK), threads))
        return ids, distances

    def _candidates(self, points: npt.NDArray[np.float32], width: int, effort: int) -> tuple[npt.NDArray[Any], Ids]:
        """The nearest points of the index for each query: values of FAISS and places; all if so many are wanted."""
        if width == len(self.rows):
            return np.empty((len(points), 0)), np.tile(np.arange(width), (len(points), 1))
        params = None
        if isinstance(self.index, faiss.IndexIVF):
            params = _FAISS.SearchParametersIVF(nprobe=min(effort, self.index.nlist))
        elif isinstance(self.index, faiss.IndexHNSW):
            params = _FAISS.SearchParametersHNSW(efSearch=8 * effort)
        found: tuple[npt.NDArray[Any], Ids] = self.index.search(points, width, params=params)
        return found


def share_found(distances: Floats, truth: Floats) -> float:
    """The mean share of the k nearest that were found; rows at equal distance are interchangeable."""
    known = np.isfinite(truth)
    last = np.max(truth, axis=1, keepdims=True, initial=np.finfo(np.float64).min, where=known)
    hits = np.sum(distances <= last + 1e-12 * np.abs(last), axis=1, where=known)
    return float(np.divide(hits, known.sum(axis=1), out=np.ones(len(truth)), where=known.any(axis=1)).mean())
