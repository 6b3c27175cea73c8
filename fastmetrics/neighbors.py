"""The nearest of many vectors: exact, or approximate with its recall measured (FAISS behind one function)."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import faiss
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import feather

from fastmetrics.errors import FileFormatError, InputError, OptionError, OutputError, UnknownNameError
from fastmetrics.vectors.arrays import (
    Ids,
    Vectors,
    VectorsLike,
    check_same_width,
    check_threads,
    one_blas_thread,
)
from fastmetrics.vectors.faiss_index import BATCH, faiss_threads, filled, flat
from fastmetrics.vectors.pairs import SPARE, Cloud, Floats, join, survey
from fastmetrics.vectors.space import Space, check_finite, padded

Distance: TypeAlias = Literal["cosine", "euclidean", "dot"]
DISTANCES = ("cosine", "euclidean", "dot")
METHODS = ("exact", "ivf", "hnsw", "pq")

EXACT_WORK = 1e12
"""Up to this many multiplications (queries · rows · D) the search is exact unless a method is named."""

_REFINE = {"exact": 1, "ivf": 1, "hnsw": 1, "pq": 8}


class Neighbors(NamedTuple):
    """The k nearest rows of each query, nearest first, ties by row number.

    ``ids`` (n, k) int64 are row numbers, −1 where there were fewer than k rows; ``distances`` (n, k) float64 are
    exact for the rows found, ascending, NaN beside −1: cosine distance, Euclidean distance, or the negated scalar
    product. ``recall`` is the measured share of the true k nearest that were found, on ``recall_sample`` queries
    (1.0 and all queries for an exact search).
    """

    ids: Ids
    distances: Floats
    method: str
    metric: str
    recall: float
    recall_sample: int

    @property
    def scores(self) -> Floats:
        """Higher is nearer: cosine similarity, negated Euclidean distance, scalar product."""
        return 1.0 - self.distances if self.metric == "cosine" else -self.distances


def nearest(
    corpus: VectorsLike,
    queries: VectorsLike | None = None,
    *,
    k: int = 10,
    metric: Distance = "cosine",
    method: str | None = None,
    nprobe: int = 32,
    seed: int = 0,
    recall_sample: int = 500,
    threads: int | None = None,
) -> Neighbors:
    """The ``k`` nearest rows of ``corpus`` for each of ``queries``, or for each of its own rows, itself excluded by id.

    ``method`` is exact, ivf (inverted lists of half-precision rows), hnsw (a navigable graph) or pq (inverted lists
    of 4-bit codes, the best 8·k of them compared exactly); by default exact while queries · rows · D ≤ 10¹², else pq.
    ``nprobe`` is how many inverted lists a query visits. Distances of the rows found are worked out in float64.
    The same call gives the same rows for any number of threads.

    >>> found = nearest([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]], k=1)
    >>> found.ids.ravel().tolist(), found.distances.round(6).ravel().tolist(), found.recall
    ([2, 2, 0], [0.2, 0.4, 0.2], 1.0)

    Rows of the corpus that are not finite are never found; a query that is not finite raises ``InputError``.
    ``UnknownNameError`` for an unknown metric or method, ``OptionError`` for a k below 1.
    """
    vectors = Vectors.of(corpus)
    asked = vectors if queries is None else Vectors.of(queries)
    if method is None:
        method = "exact" if float(asked.rows) * vectors.rows * vectors.dim <= EXACT_WORK else "pq"
    if queries is None and method == "exact" and metric != "dot":
        return _self_join(vectors, k, metric, check_threads(threads))
    index = Index.build(vectors, metric=metric, method=method, nprobe=nprobe, seed=seed, threads=threads)
    own = np.arange(asked.rows) if queries is None else None
    return index.search(asked, k=k, exclude=own, recall_sample=recall_sample, threads=threads)


def _self_join(vectors: Vectors, k: int, metric: str, threads: int) -> Neighbors:
    _check(metric, "exact", k)
    with one_blas_thread():
        found = survey(vectors, threads)
        check_finite(found.norms, "row")
        cloud = Cloud(vectors, found, "cosine" if metric == "cosine" else "euclidean")
        if len(cloud) < 2:
            ids, distances = np.empty((len(cloud), 0), np.int64), np.empty((len(cloud), 0))
        else:
            joined = join(cloud, min(k, len(cloud) - 1), threads)
            ids, distances = joined.ids, cloud.distance(joined.halves)
    return Neighbors(*padded(ids, distances, k), "exact", metric, 1.0, vectors.rows)


class Index:
    """Vectors made ready for search. Made by :meth:`build` or :meth:`load`; immutable.

    >>> index = Index.build([[0.0, 0.0], [3.0, 4.0]], metric="euclidean")
    >>> index.search([[3.0, 0.0]], k=2).distances.tolist()
    [[3.0, 4.0]]
    """

    def __init__(self, space: Space, faiss_index: Any, kept: Ids, settings: dict[str, Any], names: pa.Array) -> None:
        self._space = space
        self._faiss = faiss_index
        self._kept = kept
        self._settings = settings
        self.names = names
        """What the rows are called: the ids given to :meth:`build`, or their numbers."""

    @property
    def rows(self) -> int:
        """How many rows the index was built from."""
        return self._space.vectors.rows

    @property
    def metric(self) -> str:
        """cosine, euclidean or dot."""
        return self._space.metric

    @property
    def method(self) -> str:
        """exact, ivf, hnsw or pq."""
        return str(self._settings["method"])

    @classmethod
    def build(
        cls,
        corpus: VectorsLike,
        *,
        metric: Distance = "cosine",
        method: str | None = None,
        nprobe: int = 32,
        seed: int = 0,
        names: pa.Array | None = None,
        threads: int | None = None,
    ) -> Index:
        """An index of ``corpus``; ``names`` are the ids of its rows (their numbers, by default).

        Without a ``method``, exact up to 50,000 rows and pq beyond.
        """
        vectors = Vectors.of(corpus)
        method = method or ("exact" if vectors.rows <= 50_000 else "pq")
        _check(metric, method, 1)
        if names is not None and len(names) != vectors.rows:
            raise InputError(f"index: {len(names)} names for {vectors.rows} rows")
        space = Space.of(vectors, metric, check_threads(threads))
        kept = np.flatnonzero(np.isfinite(space.norms) & ~space.zero)
        settings = {"metric": metric, "method": method, "nprobe": nprobe, "seed": seed}
        with faiss_threads(check_threads(threads), build_alone=method == "hnsw"):
            index = filled(space, kept, settings)
        return cls(space, index, kept, settings, pa.array(np.arange(vectors.rows)) if names is None else names)

    def search(
        self,
        queries: VectorsLike,
        *,
        k: int = 10,
        exclude: npt.ArrayLike | None = None,
        recall_sample: int = 500,
        threads: int | None = None,
    ) -> Neighbors:
        """The ``k`` nearest rows of each query, batch by batch.

        ``exclude`` names one row per query that it must not find (its own, where the queries are the rows).
        """
        _check(self.metric, self.method, k)
        asked = Vectors.of(queries)
        check_same_width(asked, self._space.vectors, "search")
        own = None if exclude is None else np.asarray(exclude, np.int64)
        if own is not None and len(own) != asked.rows:
            raise InputError(f"exclude: {len(own)} rows for {asked.rows} queries")
        workers = check_threads(threads)
        with faiss_threads(workers):
            ids, distances = self._found(self._faiss, asked, own, k, workers)
            recall, measured = 1.0, asked.rows
            if self.method != "exact" and asked.rows:
                rng = np.random.default_rng(int(self._settings["seed"]))
                rows = np.sort(rng.choice(asked.rows, min(recall_sample, asked.rows), replace=False))
                recall, measured = self._recall(asked, own, rows, distances, workers), len(rows)
        return Neighbors(ids, distances, self.method, self.metric, recall, measured)

    def _recall(self, asked: Vectors, own: Ids | None, rows: Ids, distances: Floats, threads: int) -> float:
        """Share of the true nearest of some queries that were found; at equal distance any row is right."""
        truly = flat(self._space)
        for start in range(0, len(self._kept), BATCH):
            truly.add(self._space.rows(self._space.vectors.take(self._kept[start : start + BATCH])))
        queries = Vectors.of(asked.take(rows))
        k = distances.shape[1]
        truth = self._found(truly, queries, None if own is None else own[rows], k, threads)[1]
        known = np.isfinite(truth)
        last = np.max(np.where(known, truth, -np.inf), axis=1, keepdims=True)
        found = np.sum(distances[rows] <= last + 1e-12 * np.abs(last))
        return float(found / max(known.sum(), 1))

    def _found(self, index: Any, asked: Vectors, own: Ids | None, k: int, threads: int) -> tuple[Ids, Floats]:
        space = self._space
        extra = np.flatnonzero(space.zero)[: k + 1]  # of distance 1 to all, and in no FAISS index
        refine = _REFINE[self.method] if index is self._faiss else 1
        wanted = min(refine * k + SPARE + (own is not None), len(self._kept))
        ids, distances = np.empty((asked.rows, k), np.int64), np.empty((asked.rows, k))
        for start in range(0, asked.rows, BATCH):
            block = asked.block(start, min(start + BATCH, asked.rows))
            near = index.search(space.rows(block, start), wanted)[1] if wanted else np.empty((len(block), 0), np.int64)
            candidates = np.append(self._kept, -1)[near]
            candidates = np.hstack([candidates, np.broadcast_to(extra, (len(block), len(extra)))])
            if own is not None:
                candidates = np.where(candidates == own[start : start + len(block), None], -1, candidates)
            here = slice(start, start + len(block))
            ids[here], distances[here] = space.rank(block, candidates, k, threads)
        return ids, distances

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a new folder, all of it or nothing."""
        target = Path(path)
        if target.exists():
            raise OutputError(f"{target}: exists already")
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            np.save(partial / "vectors.npy", self._space.vectors.all())
            faiss.write_index(self._faiss, str(partial / "index.faiss"))
            feather.write_feather(pa.table({"id": self.names}), partial / "names.arrow")
            (partial / "settings.json").write_text(json.dumps(self._settings), "utf-8")
            partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, threads: int | None = None) -> Index:
        """Open an index that :meth:`save` wrote; its vectors are memory-mapped."""
        folder = Path(path)
        try:
            settings = json.loads((folder / "settings.json").read_text("utf-8"))
            vectors = Vectors.of(folder / "vectors.npy")
            index = faiss.read_index(str(folder / "index.faiss"))
            names = feather.read_table(folder / "names.arrow").column("id").combine_chunks()
        except (OSError, ValueError, RuntimeError) as error:
            raise FileFormatError(f"{folder}: not an index written by this library: {error}") from error
        space = Space.of(vectors, settings["metric"], check_threads(threads))
        kept = np.flatnonzero(np.isfinite(space.norms) & ~space.zero)
        return cls(space, index, kept, settings, names)


def _check(metric: str, method: str, k: int) -> None:
    if metric not in DISTANCES:
        raise UnknownNameError.of("distance", metric, DISTANCES)
    if method not in METHODS:
        raise UnknownNameError.of("method", method, METHODS)
    if k < 1:
        raise OptionError(f"k={k}: expected at least 1")
