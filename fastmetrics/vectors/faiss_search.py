"""Search by FAISS: the space in which rows are compared, the kinds of indexes, candidates re-ranked by exact
distances.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import faiss
import numpy as np
import numpy.typing as npt

from fastmetrics.base.errors import InputError
from fastmetrics.base.limits import SIZES
from fastmetrics.base.threads import ordered
from fastmetrics.kernels.vectors import Nearest, TilePoints, centre, pair_halves, pair_products, scan_tile
from fastmetrics.vectors.pair_scan import (
    BLOCK,
    NOTHING,
    SPARE,
    Cloud,
    Floats,
    alike,
    blur,
    fine_blur,
    nothing,
    rank,
    scan,
    settled,
    survey,
)
from fastmetrics.vectors.vector_arrays import Block, Ids, Vectors

# The space in which rows of a corpus and queries are compared: directions or original rows, around one centre.


@dataclass(frozen=True)
class Space:
    """The space of comparisons: directions or original rows, centred at the corpus's mean except for ``dot``."""

    vectors: Vectors
    metric: str
    norms: Floats
    mean: Floats
    factor: float
    """Scale of rows to norms of about 1, so that float32 neither overflows nor underflows."""

    @classmethod
    def of(cls, vectors: Vectors, metric: str, threads: int) -> Space:
        overview = survey(vectors, threads)
        single = vectors if vectors.single else Vectors.of(np.array(vectors.all()))
        if metric != "dot":
            cloud = Cloud(vectors, overview, "cosine" if metric == "cosine" else "euclidean")
            return cls(single, metric, overview.norms, cloud.mean, cloud.factor)
        largest = float(np.max(overview.norms[overview.finite], initial=0.0))
        return cls(single, metric, overview.norms, np.zeros(vectors.dim), 1.0 / largest if largest > 0 else 1.0)

    @property
    def zero(self) -> npt.NDArray[np.bool_]:
        """Rows without a direction (zero vectors), if directions are compared."""
        return np.asarray((self.norms == 0) & (self.metric == "cosine"))

    @staticmethod
    def norms_of(block: Block) -> Floats:
        """The norm of each row."""
        return survey(Vectors.of(block), 1).norms

    def directionless(self, block: Block) -> npt.NDArray[np.bool_]:
        """Which rows are equally far from all others: zero vectors, except for Euclidean distances."""
        return np.asarray((self.norms_of(block) == 0) & (self.metric != "euclidean"))

    def directions(self, block: Block) -> Floats:
        """Scaled rows in float64, for comparing pairs."""
        return np.asarray(block.astype(np.float64) * self.scales(self.norms_of(block))[:, None])

    def scales(self, norms: Floats) -> Floats:
        """The scale factors of rows with these norms."""
        if self.metric != "cosine":
            return np.ones(len(norms))
        return np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > 0)

    def points(self, ids: Ids) -> TilePoints:
        """Rows of the corpus in the form that FAISS compares."""
        return self._placed(self.vectors.take(ids), self.scales(self.norms[ids]), ids)

    def queries(self, block: Block, own: Ids | None = None, first: int = 0) -> TilePoints:
        """Queries in the form that FAISS compares; ``own`` are the ids to exclude from their results."""
        norms = self.norms_of(block)
        check_finite(norms, "query", first)
        return self._placed(block, self._query_scales(norms), own)

    def _query_scales(self, norms: Floats) -> Floats:
        if self.metric != "dot":
            return self.scales(norms)
        # the length of a query does not change its neighbours
        return np.divide(1.0 / self.factor, norms, out=np.zeros(len(norms)), where=norms > 0)

    def _placed(self, block: Block, scales: Floats, ids: Ids | None = None) -> TilePoints:
        rows, squares = np.empty(block.shape, np.float32), np.empty(len(block))
        centre(block, scales, self.mean, self.factor, rows, squares)
        with np.errstate(over="ignore"):  # distant queries may overflow
            halves = (0.5 * self.factor**2 * squares).astype(np.float32)
        if self.metric == "dot":
            halves = np.zeros(len(block), np.float32)
        return TilePoints(rows, halves, np.full(len(block), -1) if ids is None else ids)

    def fine_points(self, ids: Ids) -> TilePoints:
        """:meth:`points` in float64."""
        return self._fine(self.vectors.take(ids), self.scales(self.norms[ids]), ids)

    def fine_queries(self, block: Block, own: Ids, last: Floats) -> tuple[TilePoints, Floats]:
        """:meth:`queries` in float64, and the maximum error of values up to ``last``."""
        norms = self.norms_of(block)
        down = self._fine(block, self._query_scales(norms), own)
        if self.metric == "dot":
            return down, fine_blur(np.ones(len(norms)), np.zeros(1), block.shape[1], 0.0)
        middle = float(np.linalg.norm(self.mean)) * self.factor
        return down, fine_blur(np.sqrt(2.0 * down.halves), last, block.shape[1], middle)

    def _fine(self, block: Block, scales: Floats, ids: Ids) -> TilePoints:
        rows = (block.astype(np.float64) * scales[:, None] - self.mean) * self.factor
        halves = np.zeros(len(rows)) if self.metric == "dot" else 0.5 * np.einsum("ij,ij->i", rows, rows)
        return TilePoints(rows, halves, ids)

    def distances(self, block: Block, norms: Floats, left: Ids, right: Ids) -> Floats:
        """Distances in float64 between rows of the block, with these norms, and rows of the corpus."""
        corpus = self.vectors.all()
        distances = np.empty(len(left))
        if self.metric == "dot":
            pair_products(block, corpus, left, right, distances)
            return np.negative(distances, out=distances)
        scales = self.scales(norms[left]), self.scales(self.norms[right])
        pair_halves(block, corpus, left, right, *scales, distances)
        if self.metric == "cosine":
            distances[(norms[left] == 0) | (self.norms[right] == 0)] = 1.0
            return distances
        return np.sqrt(2.0 * distances, out=distances)

    def doubt(self, block: Block, down: TilePoints, edge: Floats, last: Floats) -> tuple[Ids, Floats]:
        """Queries of a block that can have a nearer row than the k-th found, and the value of the k-th.

        ``edge`` are the last values from FAISS, ``last`` the distances of the k-th rows found.
        """
        norms = self.norms_of(block)
        if self.metric == "dot":
            limits = -edge
            bounds = np.divide(last * self.factor, norms, out=np.zeros(len(norms)), where=norms > 0)
            error = blur(np.ones(len(norms)), np.zeros(1), block.shape[1])
        else:
            limits = 0.5 * edge
            bounds = self.factor**2 * (last if self.metric == "cosine" else 0.5 * last**2)
            error = blur(np.sqrt(2.0 * down.halves.astype(np.float64)), bounds, block.shape[1])
        doubt = np.flatnonzero(~(limits - error > bounds) & ~self.directionless(block))
        return doubt, bounds[doubt]

    def rank(self, block: Block, candidates: Ids, k: int) -> tuple[Ids, Floats]:
        """The k nearest of each row's candidates (−1 = none), by distances computed in float64."""
        norms = self.norms_of(block)
        left = np.repeat(np.arange(len(candidates)), candidates.shape[1])
        distances = self.distances(block, norms, left, np.maximum(candidates.ravel(), 0))
        distances[candidates.ravel() < 0] = np.inf
        table = distances.reshape(candidates.shape)
        ordered = np.lexsort((candidates, table), axis=1)[:, :k]
        best = np.take_along_axis(table, ordered, axis=1)
        ids = np.take_along_axis(candidates, ordered, axis=1)
        return padded(ids, np.where(np.isinf(best), np.nan, best), k)


def check_finite(norms: Floats, what: str, first: int = 0) -> None:
    """Raise ``InputError`` naming the first row whose norm is not finite."""
    bad = np.flatnonzero(~np.isfinite(norms))
    if len(bad):
        raise InputError(f"{what} {first + int(bad[0])} is not finite")


def padded(ids: Ids, distances: Floats, k: int) -> tuple[Ids, Floats]:
    """Both padded to k columns with id -1 and distance NaN."""
    missing = ((0, 0), (0, k - ids.shape[1]))
    return np.pad(ids, missing, constant_values=-1), np.pad(distances, missing, constant_values=np.nan)


# FAISS indexes of the kinds that ``neighbors`` offers.


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


# Approximate neighbours of every row from the nearest cells only; cells are compared as whole blocks of rows.


_ROUNDS = 5
_LEAST = 128  # minimum rows per cell; smaller blocks are slow to compare
_MOST_VISITED = 8  # visiting more than an eighth of the cells is no faster than the exact search


class RecallTarget(NamedTuple):
    """The requested recall, measured on a sample of rows drawn with ``seed``."""

    recall: float
    sample: int
    seed: int


class NearRows(NamedTuple):
    """Ids and half squared distances of each row's neighbours, and the recall on a sample."""

    ids: Ids
    halves: Floats
    recall: float
    sample: int


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows of a cloud in the cells of their nearest centres; ``order`` lists the rows cell by cell."""

    cloud: Cloud
    centres: TilePoints
    points: TilePoints
    bounds: Ids

    @classmethod
    def of(cls, cloud: Cloud, k: int, seed: int, threads: int) -> Cells:
        """Compute centres by k-means on a sample of rows, then assign every row to its nearest centre."""
        centres = _centres(cloud, k, seed)
        parts = ordered(
            lambda start: nearest_centres(cloud.points(start, min(start + BLOCK, len(cloud))), centres, 1).ravel(),
            range(0, len(cloud), BLOCK),
            threads,
        )
        cell = np.concatenate(list(parts))
        order = np.argsort(cell, kind="stable")
        bounds = np.searchsorted(cell[order], np.arange(len(centres.ids) + 1))
        return cls(cloud, centres, cloud.points_of(order), bounds)

    @cached_property
    def cell(self) -> Ids:
        """The cell of each row of the cloud."""
        cells = np.empty(len(self.cloud), np.int64)
        cells[self.points.ids] = np.repeat(np.arange(len(self.centres.ids)), np.diff(self.bounds))
        return cells

    def enough(self, sample: Ids, truth: Ids, target: float) -> int:
        """Number of cells to visit around a row to reach the recall ``target``."""
        ranks = np.empty((len(sample), len(self.centres.ids)), np.int64)
        order = nearest_centres(self.cloud.points_of(sample), self.centres, len(self.centres.ids))
        np.put_along_axis(ranks, order, np.arange(order.shape[1])[None], axis=1)
        needed = np.take_along_axis(ranks, self.cell[truth], axis=1) + 1
        for visited in np.unique(needed).tolist():
            shares = (needed <= visited).mean(axis=1)
            if shares.mean() - shares.std() / np.sqrt(len(shares)) >= target:
                return int(visited)
        return len(self.centres.ids)

    def neighbours(self, k: int, visited: int, threads: int) -> Ids:
        """The k + SPARE nearest of each row in the cells around it, filled up with ``NOTHING``."""
        width, size = min(k + SPARE, len(self.cloud) - 1), SIZES.vector_tile_rows
        blocks = [
            (start, min(start + size, stop))
            for first, stop in zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True)
            for start in range(first, stop, size)
        ]
        ids = np.empty((len(self.cloud), width), np.int64)

        def work(block: tuple[int, int]) -> None:
            down = _part(self.points, slice(*block))
            near = nothing(len(down.ids), width)
            cells = nearest_centres(down, self.centres, visited)
            rows, flat = np.divmod(np.argsort(cells, axis=None, kind="stable"), visited)[0], np.sort(cells, axis=None)
            edges = np.flatnonzero(np.diff(flat, prepend=-1, append=len(self.centres.ids)))
            for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
                self._compare(_part(down, rows[first:last]), int(flat[first]), near, rows[first:last])
            ids[down.ids] = near.ids

        for _ in ordered(work, blocks, threads):
            pass
        return ids

    def _compare(self, down: TilePoints, cell: int, near: Nearest, rows: Ids) -> None:
        """Add the rows of a cell to the neighbour lists of some rows."""
        nearest, size = Nearest(near.halves[rows], near.ids[rows]), SIZES.vector_tile_rows
        for start in range(self.bounds[cell], self.bounds[cell + 1], size):
            across = _part(self.points, slice(start, min(start + size, self.bounds[cell + 1])))
            _offer(down, across, nearest)
        near.halves[rows], near.ids[rows] = nearest


def _centres(cloud: Cloud, k: int, seed: int) -> TilePoints:
    """Centres of cells by FAISS's k-means, in one thread, so that they do not depend on the number of threads."""
    count, dim = len(cloud), cloud.vectors.dim
    number = max(1, min(int(2 * np.sqrt(count)), count // max(_LEAST, 4 * k)))
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(count, min(count, number * _PER_CELL), replace=False))
    means: Any = faiss.Kmeans(dim, number, niter=_ROUNDS, seed=seed, min_points_per_centroid=1)
    with faiss_threads(1):
        means.train(cloud.points_of(chosen).rows)
    rows = np.asarray(means.centroids, np.float32)
    halves = 0.5 * np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    return TilePoints(rows, halves.astype(np.float32), count + np.arange(number))  # ids beyond those of the rows


def nearest_centres(down: TilePoints, centres: TilePoints, count: int) -> Ids:
    """The nearest centres of each row, (n, wanted), nearest first."""
    near = nothing(len(down.ids), count)
    _offer(down, centres, near)
    return near.ids - centres.ids[0]


def _offer(down: TilePoints, across: TilePoints, near: Nearest) -> None:
    no_far = np.full(3, np.inf)
    scan_tile(down.rows @ across.rows.T, down, across, near, nothing(len(across.ids), 0), no_far)


def _part(points: TilePoints, which: slice | Ids) -> TilePoints:
    return TilePoints(points.rows[which], points.halves[which], points.ids[which])


def near_by_cells(cloud: Cloud, k: int, target: RecallTarget, threads: int) -> NearRows | None:
    """The k nearest rows of every row with the requested recall; None if the exact search is as fast.

    A true neighbour is found if and only if its cell is visited, so a sample of rows with their true neighbours
    determines the number of cells before the search.
    """
    rng = np.random.default_rng(target.seed)
    sample = np.sort(rng.choice(len(cloud), min(target.sample, len(cloud)), replace=False))
    truth = scan(cloud, sample, k, threads)
    cells = Cells.of(cloud, k, target.seed, threads)
    visited = cells.enough(sample, truth.ids, target.recall)
    if visited * _MOST_VISITED > len(cells.centres.ids):
        return None
    candidates = cells.neighbours(k, visited, threads)
    short = np.flatnonzero(candidates[:, k - 1] == NOTHING)  # rows with fewer than k candidates
    for start in range(0, len(short), BLOCK):
        rows = short[start : start + BLOCK]
        candidates[rows, :k] = scan(cloud, rows, k, threads).ids
    ids, halves = rank(cloud, np.arange(len(cloud)), np.where(candidates == NOTHING, -1, candidates), k, threads)
    recall = float(share_found(halves[sample], truth.halves).mean())
    # the recall after ranking is lower: float32 cannot separate rows much nearer to each other than to the centre
    return NearRows(ids, halves, recall, len(sample)) if recall >= target.recall else None


def share_found(distances: Floats, truth: Floats) -> npt.NDArray[np.float64]:
    """Recall per query; rows at equal distance are interchangeable."""
    finite = np.isfinite(truth)
    last = np.max(np.where(finite, truth, -np.inf), axis=1, keepdims=True, initial=-np.inf)
    last = np.where(finite.any(axis=1, keepdims=True), last, 0.0)
    hits = np.sum(distances <= last + 1e-12 * np.abs(last), axis=1)
    return np.divide(hits, finite.sum(axis=1), out=np.ones(len(distances)), where=finite.any(axis=1))


# Searching a FAISS index: candidates by its codes, re-ranking by exact distances, and tuning for a recall.


_BLOCK = 1024
_MOST_CANDIDATES = 4096
_FAISS: Any = faiss  # its stubs lack the search parameters


class Effort(NamedTuple):
    """Search effort: number of visited inverted lists (or a graph's candidates), and ``refine`` · k re-ranked rows."""

    visited: int
    refine: int


EXACT = Effort(1, 1)
_START = {"exact": EXACT, "ivf": Effort(8, 1), "pq": Effort(8, 4), "hnsw": Effort(64, 1)}


class Tuned(NamedTuple):
    """An effort and its measured recall."""

    effort: Effort
    recall: float


@dataclass(frozen=True, eq=False)
class Seeker:
    """A FAISS index over some ``rows`` of a space, and the rows outside the index (``extra``)."""

    space: Space
    index: Any
    rows: Ids
    method: str
    extra: Ids = field(default_factory=lambda: np.empty(0, np.int64))

    def search(self, queries: Vectors, own: Ids | None, k: int, effort: Effort, threads: int) -> tuple[Ids, Floats]:
        """The k nearest of each row of ``queries``, by exact distances; the result of row r excludes row ``own[r]``."""
        width = min(effort.refine * k + SPARE + (own is not None), len(self.rows))

        def part(start: int) -> tuple[Ids, Floats]:
            faiss.omp_set_num_threads(1)  # for this thread only, because the blocks run in parallel
            block = queries.block(start, min(start + _BLOCK, queries.rows))
            own_ids = None if own is None else own[start : start + len(block)]
            down = self.space.queries(block, own_ids, start)
            far, near = np.empty((len(block), 0), np.float32), np.empty((len(block), 0), np.int64)
            if width:
                far, near = self.index.search(down.rows, width, params=self._params(effort))
            near[self.space.directionless(block)] = np.arange(width)  # all rows are equally far from a zero vector
            ids, distances = self.space.rank(block, self._with_extra(np.append(self.rows, -1)[near], down.ids, k), k)
            if isinstance(self.index, faiss.IndexFlat) and 0 < width < len(self.rows):
                doubt, last = self.space.doubt(block, down, far[:, -1].astype(np.float64), distances[:, -1])
                near_all = (distances[doubt, -1] == 0) & (self.space.metric != "dot")
                equal, doubt, last = doubt[near_all], doubt[~near_all], last[~near_all]
                if len(equal):
                    ids[equal] = self._alike(block[equal], down.ids[equal], ids[equal])
                if len(doubt):
                    ids[doubt], distances[doubt] = self._settled(block[doubt], down.ids[doubt], last, k)
            return ids, distances

        parts = list(ordered(part, range(0, queries.rows, _BLOCK), threads))
        if not parts:
            return np.empty((0, k), np.int64), np.empty((0, k))
        return np.concatenate([ids for ids, _ in parts]), np.concatenate([distances for _, distances in parts])

    def _alike(self, queries: Block, own: Ids, ids: Ids) -> Ids:
        """The first rows at distance 0 from queries for which the search found any such rows, ``ids``."""
        tiles = (self.rows[at : at + _BLOCK] for at in range(0, len(self.rows), _BLOCK))
        stretches = ((rows, self.space.directions(self.space.vectors.take(rows))) for rows in tiles)
        first = alike(self.space.directions(queries), own, stretches, ids.shape[1])
        return np.where(first[:, -1:] == NOTHING, ids, first)

    def _settled(self, queries: Block, own: Ids, last: Floats, k: int) -> tuple[Ids, Floats]:
        """The k nearest of queries whose float32 result is uncertain; ``last`` are the values of the k-th found."""
        norms = self.space.norms_of(queries)
        down, error = self.space.fine_queries(queries, own, last)
        tiles = (self.space.fine_points(self.rows[at : at + _BLOCK]) for at in range(0, len(self.rows), _BLOCK))
        near = settled(
            down, last, error, tiles, lambda left, right: self.space.distances(queries, norms, left, right), k
        ).ids
        return self.space.rank(queries, self._with_extra(np.where(near == NOTHING, -1, near), own, k), k)

    def _with_extra(self, candidates: Ids, own: Ids, k: int) -> Ids:
        """Candidates and the rows outside the index, all at one distance, without each row's own."""
        extra = self.extra[: k + 1]
        candidates = np.hstack([candidates, np.broadcast_to(extra, (len(candidates), len(extra)))])
        return np.where(candidates == own[:, None], -1, candidates)

    def _params(self, effort: Effort) -> Any:
        if isinstance(self.index, faiss.IndexIVF):
            return _FAISS.SearchParametersIVF(nprobe=min(effort.visited, self.index.nlist))
        if isinstance(self.index, faiss.IndexHNSW):
            return _FAISS.SearchParametersHNSW(efSearch=effort.visited)
        return None

    def true_distances(self, queries: Vectors, own: Ids | None, k: int, threads: int) -> Floats:
        """The distances of the true k nearest among all rows, computed block by block."""
        best = np.full((queries.rows, 0), np.nan)
        for start in range(0, max(len(self.rows), 1), 16 * BATCH):
            rows = self.rows[start : start + 16 * BATCH]
            index = flat(self.space)
            index.add(self.space.points(rows).rows)
            part = replace(self, index=index, rows=rows, extra=self.extra if start == 0 else self.extra[:0])
            nearest = part.search(queries, own, k, EXACT, threads)[1]
            best = np.sort(np.hstack([best, nearest]), axis=1)[:, :k]
        return best

    def tuned(self, queries: Vectors, own: Ids | None, k: int, target: float, threads: int) -> Tuned:
        """The smallest effort whose recall exceeds ``target`` by more than the measurement error, or the largest."""
        truth = self.true_distances(queries, own, k, threads)

        def measured(effort: Effort) -> tuple[float, float, Effort]:
            shares = share_found(self.search(queries, own, k, effort, threads)[1], truth)
            error = float(shares.std() / np.sqrt(len(shares)))
            return float(shares.mean()), error, effort

        recall, error, effort = measured(_START[self.method])
        while recall - error < target:
            steps = [measured(step) for step in self._steps(effort, k)]
            if not steps:
                break
            recall, error, effort = max(steps)
        return Tuned(effort, recall)

    def _steps(self, effort: Effort, k: int) -> Iterator[Effort]:
        """The next efforts to try after an insufficient one."""
        lists = self.index.nlist if isinstance(self.index, faiss.IndexIVF) else 0
        most = lists if lists else len(self.rows) * (self.method == "hnsw")
        if effort.visited < most:
            yield Effort(min(2 * effort.visited, most), effort.refine)
        if self.method == "pq" and effort.refine * k < min(len(self.rows), _MOST_CANDIDATES):
            yield Effort(effort.visited, effort.refine + (effort.refine + 1) // 2)
