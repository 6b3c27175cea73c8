"""Nearest-neighbour search: exact, or approximate with measured recall (FAISS)."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import feather

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.columns import as_array
from fastmetrics.base.display import Grid, NearestRows, lines_of
from fastmetrics.base.errors import FileFormatError, InputError, OutputError, UnknownNameError
from fastmetrics.base.options import ExactWork, Neighbours, Real, Rows, Seed, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores
from fastmetrics.tables.encoders import writing
from fastmetrics.tables.input_files import local_path
from fastmetrics.tables.targets import sync
from fastmetrics.vectors.faiss_search import (
    EFFORT,
    Seeker,
    faiss_threads,
    filled,
    read_index,
    share_found,
    write_index,
)
from fastmetrics.vectors.pair_scan import Floats, Space, Survey, join, nearest_of, padded, survey
from fastmetrics.vectors.vector_arrays import Ids, Vectors, VectorsLike, check_same_width, one_blas_thread

Distance: TypeAlias = Literal["cosine", "euclidean", "dot"]
DISTANCES = ("cosine", "euclidean", "dot")
METHODS = ("exact", "ivf", "hnsw", "pq")

EXACT_WORK = 1e12
"""Maximum multiplications (queries · rows · D) of an exact search if no method is named."""

RECALL = 0.98
"""The default recall of an approximate search."""

_TIMED, _TIMED_SECONDS = 256, 1.0
"""Queries that are searched once more, each alone, for the latency of one: at most so many, for about so long."""


@dataclass(frozen=True, eq=False)
class Neighbors(NearestRows):
    """The k nearest rows of each query, nearest first, equally near ones by row number.

    ``ids`` (n, k) int64 are row numbers, −1 if there were fewer than k rows; ``distances`` (n, k) float64 are
    exact for the rows found, ascending, NaN beside −1: cosine distance, Euclidean distance, or the negated scalar
    product.  If more rows are equally far than the list has room for, an exact search has any of them.  ``recall`` is
    the measured share of the true k nearest that were found, on ``recall_sample`` queries (1.0 and all queries for an
    exact search); below the recall asked for, no effort reached that.
    """

    ids: Ids
    distances: Floats
    method: str
    metric: str
    recall: float
    recall_sample: int
    _fields = ("query", "ids", "distances")

    @property
    def scores(self) -> Floats:
        """Higher is nearer: cosine similarity, negated Euclidean distance, scalar product."""
        return 1.0 - self.distances if self.metric == "cosine" else -self.distances

    def grids(self) -> Sequence[Grid]:
        """The method, and the neighbours of the first queries with their distances."""
        return [lines_of([self], "method", "metric", "recall", "recall_sample"), *super().grids()]


def nearest(
    vectors: Annotated[VectorsLike, Help("An array, table, column or file of vectors.")],
    queries: Annotated[VectorsLike | None, Help("The vectors to search for; by default the rows themselves.")] = None,
    *,
    k: Annotated[int, Help("The number of neighbours of each row.")] = 10,
    metric: Annotated[Distance, Help("``cosine``, ``euclidean`` or ``dot``.")] = "cosine",
    method: Annotated[str | None, Help("``exact``, ``ivf``, ``hnsw`` or ``pq``; by default chosen by size.")] = None,
    exact_work: Annotated[float, Help("The multiplications up to which the result is exact.")] = EXACT_WORK,
    recall: Annotated[float, Help("The share of the true neighbours to find.")] = RECALL,
    recall_sample: Annotated[int, Help("The queries on which the recall is measured.")] = 1000,
    seed: Annotated[int, Help("The seed of all draws.")] = 0,
    threads: shared.Threads = None,
) -> Neighbors:
    """The ``k`` nearest rows of ``vectors`` for each query, or of each row, without itself.

    ``method`` is exact, ivf (inverted lists of half-precision rows), hnsw (a navigable graph) or pq (inverted lists of
    4-bit codes; the best candidates are compared exactly), of FAISS.  The default is exact while queries · rows · D ≤
    ``exact_work``; beyond, ivf.  An approximate search doubles its effort until it finds the share ``recall`` of the
    true neighbours of ``recall_sample`` queries, and reports the share found.  Distances of the returned rows are
    computed in float64.  The same call gives the same rows for any number of threads.

    >>> found = nearest([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]], k=1)
    >>> found.ids.ravel().tolist(), found.distances.round(6).ravel().tolist(), found.recall
    ([2, 2, 0], [0.2, 0.4, 0.2], 1.0)

    Rows of ``vectors`` that are not finite are never returned; a query that is not finite raises ``InputError``.
    Raises ``UnknownNameError`` for an unknown metric or method, ``OptionError`` for a k below 1, a recall outside 0 to
    1 or a negative ``exact_work``.
    """
    argument("exact_work", exact_work, ExactWork)
    workers = cores(threads)
    vectors = Vectors.of(vectors)
    query_vectors = vectors if queries is None else Vectors.of(queries)
    work = float(query_vectors.rows) * vectors.rows * vectors.dim
    own = np.arange(query_vectors.rows) if queries is None else None
    chosen = method or ("exact" if work <= exact_work else "ivf")
    _check(metric, chosen, k, recall, recall_sample, seed)
    if own is not None and chosen == "exact" and metric != "dot":
        return _self_join(vectors, k, metric, workers)
    index = Index.build(vectors, metric=metric, method=chosen, seed=seed, threads=workers)
    return index.search(query_vectors, k=k, exclude=own, recall=recall, recall_sample=recall_sample, threads=workers)


def _self_join(vectors: Vectors, k: int, metric: str, threads: int) -> Neighbors:
    """Each row's neighbours, from each pair once."""
    if vectors.rows and not vectors.dim:
        raise InputError(f"nearest: none of the {vectors.rows} rows contains a number")
    with one_blas_thread():
        overview = survey(vectors, threads)
        check_finite(overview, "row")
        ids, distances = np.empty((vectors.rows, 0), np.int64), np.empty((vectors.rows, 0))
        if vectors.rows > 1:
            joined = join(Space(vectors, overview, metric), min(k, vectors.rows - 1), threads)
            ids, distances = joined.ids, joined.distances
    return Neighbors(*padded(ids, distances, k), "exact", metric, 1.0, vectors.rows)


class Index:
    """An index of vectors for searching.  Created by :meth:`build` or :meth:`load`; immutable.

    >>> index = Index.build([[0.0, 0.0], [3.0, 4.0]], metric="euclidean")
    >>> index.search([[3.0, 0.0]], k=2).distances.tolist()
    [[3.0, 4.0]]
    """

    def __init__(self, seeker: Seeker, settings: dict[str, Any], names: pa.Array) -> None:
        self._seeker = seeker
        self._settings = settings
        self.names = names
        """The names of the rows: the ids given to :meth:`build`, or row numbers."""

    @property
    def rows(self) -> int:
        """Number of rows in the index."""
        return self._seeker.space.vectors.rows

    @property
    def metric(self) -> str:
        """cosine, euclidean or dot."""
        return self._seeker.space.metric

    @property
    def method(self) -> str:
        """exact, ivf, hnsw or pq."""
        return str(self._settings["method"])

    @classmethod
    def build(
        cls,
        vectors: VectorsLike,
        *,
        metric: Distance = "cosine",
        method: str | None = None,
        seed: int = 0,
        names: Any = None,
        threads: int | None = None,
    ) -> Index:
        """An index of ``vectors``, an array, table, column or file as in :func:`geometry`.

        ``names`` is the column of its ids (row numbers, by default).  ``metric`` is ``cosine``, ``euclidean`` or
        ``dot``, ``method`` ``exact``, ``ivf``, ``hnsw`` or ``pq``; by default exact up to 50,000 rows and pq beyond.
        The index holds its rows in memory, and FAISS a copy, which is exact or, for ``ivf`` and ``pq``, smaller.

        >>> index = Index.build([[1.0, 0.0], [0.0, 1.0]], names=["east", "north"])
        >>> index.rows, index.method, index.names.to_pylist()
        (2, 'exact', ['east', 'north'])

        Raises ``InputError`` for names of another number, ``UnknownNameError`` for an unknown metric or method.
        """
        workers = cores(threads)
        vectors = Vectors.of(vectors)
        method = method or ("exact" if vectors.rows <= 50_000 else "pq")
        _check(metric, method, 1, seed=seed)
        if vectors.rows and not vectors.dim:
            raise InputError(f"index: none of the {vectors.rows} rows contains a number")
        ids = as_array(np.arange(vectors.rows) if names is None else names, "names")
        if len(ids) != vectors.rows:
            raise InputError(f"index: {len(ids)} names for {vectors.rows} rows")
        space = Space(vectors, survey(vectors, workers), metric)
        with faiss_threads(workers, build_alone=method == "hnsw"):
            index = filled(space, method, seed)
        return cls(Seeker(space, index, method), {"metric": metric, "method": method, "seed": seed}, ids)

    def search(
        self,
        queries: VectorsLike,
        *,
        k: int = 10,
        exclude: npt.ArrayLike | None = None,
        recall: float = RECALL,
        recall_sample: int = 1000,
        threads: int | None = None,
    ) -> Neighbors:
        """The ``k`` nearest rows of each query, batch by batch.

        ``exclude`` names one row per query that it must not find (its own, where the queries are the rows).
        ``recall`` and ``recall_sample`` as in :func:`nearest`.  The result has ``ids`` (row numbers; ``names`` of the
        index names them), ``distances``, ``scores``, and the ``recall`` that was measured.

        >>> index = Index.build([[1.0, 0.0], [0.0, 1.0]], names=["east", "north"])
        >>> index.search([[0.6, 0.8]], k=1).ids.tolist()
        [[1]]

        Raises ``InputError`` for queries of another length or that are not finite, ``OptionError`` for a ``k`` below 1.
        """
        return self._search(queries, k, exclude, recall, recall_sample, cores(threads))[0]

    def timed_search(self, queries: Vectors, *, k: int, recall: float, threads: int) -> tuple[Neighbors, Floats]:
        """The neighbours of each query, and the seconds of some queries, each searched once more alone on one thread.

        They are up to 256 queries, spread over all, as far as a second goes.
        """
        near, effort = self._search(queries, k, None, recall, 1000, threads)
        seconds: list[float] = []
        with faiss_threads(1):
            for row in np.linspace(0, queries.rows - 1, min(_TIMED, queries.rows)).astype(np.int64):
                query = Vectors.of(queries.take(np.array([row])))
                began = time.perf_counter()
                self._seeker.search(query, None, k, effort, 1)
                seconds.append(time.perf_counter() - began)
                if sum(seconds) > _TIMED_SECONDS:
                    break
        return near, np.array(seconds)

    def _search(
        self,
        queries: VectorsLike,
        k: int,
        exclude: npt.ArrayLike | None,
        recall: float,
        recall_sample: int,
        workers: int,
    ) -> tuple[Neighbors, int]:
        """The neighbours of each query, and the effort that finds them."""
        _check(self.metric, self.method, k, recall, recall_sample)
        query_vectors = Vectors.of(queries)
        if query_vectors.rows:  # a file without rows does not tell their width
            check_same_width(query_vectors, self._seeker.space.vectors, "search")
        check_finite(survey(query_vectors, workers), "query")
        own = None if exclude is None else np.asarray(exclude, np.int64)
        if own is not None and len(own) != query_vectors.rows:
            raise InputError(f"exclude: {len(own)} rows for {query_vectors.rows} queries")
        seeker, effort, measured, n_measured = self._seeker, EFFORT, 1.0, query_vectors.rows
        with faiss_threads(workers), one_blas_thread():
            if self.method != "exact" and query_vectors.rows:
                rng = np.random.default_rng(int(self._settings["seed"]))
                n_measured = min(recall_sample, query_vectors.rows)
                rows = np.sort(rng.choice(query_vectors.rows, n_measured, replace=False))
                sample, sample_own = Vectors.of(query_vectors.take(rows)), None if own is None else own[rows]
                truth = nearest_of(seeker.space, sample, sample_own, k, workers).distances
                found = seeker.search(sample, sample_own, k, effort, workers)[1]
                while (measured := share_found(found, truth)) < recall and effort < seeker.most:
                    effort *= 2
                    found = seeker.search(sample, sample_own, k, effort, workers)[1]
            ids, distances = seeker.search(query_vectors, own, k, effort, workers)
        return Neighbors(ids, distances, self.method, self.metric, measured, n_measured), effort

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a new folder, all of it or nothing.

        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "index"
        >>> Index.build([[1.0, 0.0], [0.0, 1.0]]).save(path)
        >>> sorted(file.name for file in path.iterdir())
        ['index.faiss', 'names.arrow', 'settings.json', 'vectors.npy']

        Raises ``OutputError`` if the folder exists or cannot be written.
        """
        target = check_absent(path)
        try:
            with writing(target):
                if not target.parent.exists():
                    target.parent.mkdir(parents=True)
                with tempfile.TemporaryDirectory(prefix=".fastmetrics-", dir=target.absolute().parent) as folder:
                    self._write(Path(folder, "whole"))
                    sync(Path(folder, "whole"), inside=True)
                    os.rename(Path(folder, "whole"), target)  # which replaces no folder with files
        except RuntimeError as error:  # of FAISS
            raise OutputError(f"cannot write {target}: {error}") from error

    def _write(self, partial: Path) -> None:
        """Write all files into a new folder."""
        partial.mkdir()
        np.save(partial / "vectors.npy", self._seeker.space.vectors.all())
        digest = write_index(self._seeker.index, partial / "index.faiss")
        feather.write_feather(pa.table({"id": self.names}), partial / "names.arrow")
        (partial / "settings.json").write_text(json.dumps({**self._settings, "sha256": digest}), "utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, threads: int | None = None) -> Index:
        """Open an index written by :meth:`save`.

        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "index"
        >>> Index.build([[1.0, 0.0], [0.0, 1.0]]).save(path)
        >>> Index.load(path).search([[0.6, 0.8]], k=1).ids.tolist()
        [[1]]

        Raises ``FileFormatError`` for a folder that is no index.
        """
        workers, folder = cores(threads), local_path(path, "path")
        if folder.is_file():
            way = f"fastmetrics vectors index {folder} -o index (fm.vectors.Index.build)"
            raise FileFormatError(f"{folder}: a file, and no folder of an index; of vectors, make one: {way}")
        try:
            settings = json.loads((folder / "settings.json").read_text("utf-8"))
            vectors = Vectors.of(folder / "vectors.npy")
            index = read_index(folder / "index.faiss", settings["sha256"])
            names = feather.read_table(folder / "names.arrow").column("id").combine_chunks()
            _check(settings["metric"], settings["method"], 1, seed=settings["seed"])
        except (OSError, ValueError, RuntimeError, LookupError, TypeError, MemoryError) as error:
            raise FileFormatError(f"{folder}: not an index written by fastmetrics: {error}") from error
        seeker = Seeker(Space(vectors, survey(vectors, workers), settings["metric"]), index, settings["method"])
        if (index.ntotal, index.d, len(names)) != (len(seeker.rows), vectors.dim, vectors.rows):
            raise FileFormatError(f"{folder}: not an index written by fastmetrics: its files do not fit together")
        return cls(seeker, settings, names)


def check_finite(overview: Survey, what: str, ids: pa.Array | None = None) -> None:
    """Raise ``InputError`` naming the first row that is not finite, also by its id if there are ids."""
    if not overview.finite.all():
        row = int(np.argmin(overview.finite))
        name = "" if ids is None else f" (id {ids[row].as_py()!r})"
        raise InputError(f"{what} {row}{name} is not finite (null, NaN or an infinity); leave it out")


def check_absent(path: str | os.PathLike[str]) -> Path:
    """The path of a new folder; raises ``OutputError`` if it exists."""
    target = local_path(path, "path")
    if os.path.lexists(target):
        raise OutputError(f"{target}: exists already; choose a new folder")
    return target


def _check(metric: str, method: str, k: int, recall: float = RECALL, recall_sample: int = 1, seed: int = 0) -> None:
    if metric not in DISTANCES:
        raise UnknownNameError.of("distance", metric, DISTANCES)
    if method not in METHODS:
        raise UnknownNameError.of("method", method, METHODS)
    argument("k", k, Neighbours)
    argument("recall", recall, Real(0.0, 1.0, above=True))
    argument("recall_sample", recall_sample, Rows)
    argument("seed", seed, Seed)
