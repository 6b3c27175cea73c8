"""Vectors as points of a space, and their comparison in tiles of scalar products: the nearest rows, all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fastmetrics.base.limits import SIZES
from fastmetrics.base.progress import WorkDone, report
from fastmetrics.base.threads import ordered
from fastmetrics.kernels.vectors import (
    Nearest,
    TilePoints,
    centre,
    distance_sums,
    norms_and_sums,
    pair_halves,
    pair_products,
    scan_tile,
)
from fastmetrics.vectors.vector_arrays import Block, Ids, Vectors

# Vectors as points around their centre, in the space of a distance.


Floats: TypeAlias = npt.NDArray[np.float64]

BLOCK = 4096


@dataclass(frozen=True)
class Survey:
    """Results of one pass over the rows: their norms (not finite for a non-finite row) and two means."""

    norms: Floats
    mean: Floats
    unit_mean: Floats

    @cached_property
    def finite(self) -> npt.NDArray[np.bool_]:
        """Which rows are finite."""
        return np.isfinite(self.norms)


def survey(vectors: Vectors, threads: int) -> Survey:
    """Norms and means of all rows, block by block, summed in the order of the blocks."""
    norms = np.empty(vectors.rows)
    total, unit_total = np.zeros(vectors.dim), np.zeros(vectors.dim)

    def part(start: int) -> tuple[Floats, Floats]:
        stop = min(start + BLOCK, vectors.rows)
        sums, unit_sums = np.zeros(vectors.dim), np.zeros(vectors.dim)
        norms_and_sums(vectors.block(start, stop), norms[start:stop], sums, unit_sums)
        return sums, unit_sums

    for sums, unit_sums in ordered(part, range(0, vectors.rows, BLOCK), threads):
        total += sums
        unit_total += unit_sums
    count = max(int(np.isfinite(norms).sum()), 1)
    return Survey(norms, total / count, unit_total / count)


def zero_vectors(vectors: Vectors, threads: int) -> int:
    """The number of rows of length 0."""
    return int((survey(vectors, threads).norms == 0).sum())


class Space:
    """The finite rows of some vectors as points around their mean; directions for cosine, the rows as they are for dot.

    Points are scaled by ``factor`` to norms of about 1, so that float32 neither overflows nor underflows.  Pairs are
    compared by h_i + h_j − v_i·v_j, half their squared distance: no digits are lost if all rows are close together, and
    of directions it is the cosine distance.  For dot each h is 0.  A zero vector has no direction: its cosine distance
    to every other row is 1.
    """

    def __init__(self, vectors: Vectors, overview: Survey, metric: str) -> None:
        self.vectors, self.metric, self.norms = vectors, metric, overview.norms
        self.rows: Ids = np.flatnonzero(overview.finite)
        means = {"cosine": overview.unit_mean, "euclidean": overview.mean}
        self.mean = means.get(metric, np.zeros(vectors.dim))
        self.factor = self._factor(self.norms[self.rows])

    def __len__(self) -> int:
        return len(self.rows)

    def _factor(self, norms: Floats) -> float:
        if self.metric == "dot":
            size = np.max(norms, initial=0.0)
        else:
            squares = (norms * self.scales(norms)) ** 2
            spread = float(np.mean(squares) - self.mean @ self.mean) if len(norms) else 0.0
            size = np.sqrt(max(spread, 1e-14 * float(np.max(squares, initial=0.0))))
        return min(1.0 / float(size), 1e150) if size > 0 else 1.0

    def scales(self, norms: Floats) -> Floats:
        """The scale factors of rows with these norms; 0 for one without a direction."""
        if self.metric != "cosine":
            return np.ones(len(norms))
        return np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > 0)

    def block(self, rows: Ids) -> Block:
        """The original rows of ascending numbers: a view where these follow each other."""
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
            return self.vectors.block(int(rows[0]), int(rows[-1]) + 1)
        return self.vectors.take(rows)

    def centred(self, rows: Ids) -> tuple[npt.NDArray[np.float32], Floats]:
        """The given rows as points, and their squared norms before ``factor``."""
        return self._centred(self.block(rows), self.scales(self.norms[rows]))

    def _centred(self, block: Block, scales: Floats) -> tuple[npt.NDArray[np.float32], Floats]:
        points, squares = np.empty(block.shape, np.float32), np.empty(len(block))
        centre(block, scales, self.mean, self.factor, points, squares)
        return points, squares

    def fine(self, block: Block, scales: Floats) -> Floats:
        """Scaled rows as points before they are rounded to float32."""
        return np.asarray((block.astype(np.float64) * scales[:, None] - self.mean) * self.factor)

    def halves(self, squares: Floats, scales: Floats) -> Floats:
        """Each row's h, before ``factor``."""
        if self.metric == "dot":
            return np.zeros(len(squares))
        return np.where(scales == 0, 0.5 * (1.0 + self.mean @ self.mean), 0.5 * squares)

    def _placed(self, block: Block, scales: Floats, ids: Ids, fine: bool) -> TilePoints:
        points, squares = self._centred(block, scales)
        with np.errstate(over="ignore"):  # distant queries overflow in float32
            halves = (self.halves(squares, scales) * self.factor**2).astype(np.float64 if fine else np.float32)
        return TilePoints(self.fine(block, scales) if fine else points, halves, ids)

    def points(self, rows: Ids, *, fine: bool = False) -> TilePoints:
        """The given rows as points in float32, or ``fine`` in float64."""
        return self._placed(self.block(rows), self.scales(self.norms[rows]), rows, fine)

    def queries(self, block: Block, own: Ids | None = None, *, fine: bool = False) -> TilePoints:
        """Queries as points; ``own`` are the rows to exclude from their results."""
        norms = norms_of(block)
        scales = self.scales(norms)
        if self.metric == "dot":  # the length of a query does not change its neighbours
            scales = np.divide(1.0 / self.factor, norms, out=np.zeros(len(norms)), where=norms > 0)
        return self._placed(block, scales, np.full(len(block), -1) if own is None else own, fine)

    def rank(self, block: Block, candidates: Ids, k: int) -> tuple[Ids, Floats]:
        """The k nearest of each row's candidates (−1 = none), by distances computed in float64, ties by number."""
        left, right = np.repeat(np.arange(len(block)), candidates.shape[1]), np.maximum(candidates, 0).ravel()
        scales = self.scales(norms_of(block))[left], self.scales(self.norms[right])
        if self.vectors.single:
            corpus = self.vectors.all()
        else:
            distinct, right = np.unique(right, return_inverse=True)
            corpus = self.vectors.take(distinct)
        distances = np.empty(len(left))
        if self.metric == "dot":
            pair_products(block, corpus, left, right, distances)
            distances = -distances
        else:
            pair_halves(block, corpus, left, right, *scales, distances)
            distances[(scales[0] == 0) | (scales[1] == 0)] = 1.0
        if self.metric == "euclidean":
            distances = np.sqrt(2.0 * distances)
        distances[candidates.ravel() < 0] = np.nan
        table = distances.reshape(candidates.shape)
        best = np.lexsort((candidates, table), axis=1)[:, :k]
        return padded(np.take_along_axis(candidates, best, axis=1), np.take_along_axis(table, best, axis=1), k)

    def doubt(self, block: Block, edge: npt.NDArray[Any], last: Floats, *, fine: bool = False) -> Ids:
        """Queries of a block that can have a nearer row than the k-th found, at the distance ``last``.

        ``edge`` are the values of the last candidates, by float32 or ``fine`` by float64, which tells all that differ
        in nine digits.  Where all found are at distance 0, none is nearer.
        """
        norms = norms_of(block)
        if self.metric == "dot":
            bounds = np.divide(last * self.factor, norms, out=np.zeros(len(norms)), where=norms > 0)
            reach, settled = np.ones(len(norms)), norms == 0
        else:
            bounds = self.factor**2 * (last if self.metric == "cosine" else 0.5 * last**2)
            halves = self.queries(block).halves.astype(np.float64)
            reach = np.sqrt(2.0 * halves) + np.sqrt(2.0 * np.maximum(bounds, 0.0))
            settled = (bounds == 0) | ((norms == 0) & (self.metric == "cosine"))
        unit, middle = 8.0 + 2.0 * np.sqrt(self.vectors.dim), float(np.linalg.norm(self.mean)) * self.factor
        of_centre = unit * 2.0**-53 * middle
        error = unit * (2.0**-52 if fine else 2.0**-24) * reach**2 + of_centre * (reach + of_centre)
        unsure = ~(edge - error > bounds) & ~settled
        return np.flatnonzero(unsure & ~(error < 1e-9 * bounds) if fine else unsure)


def norms_of(block: Block) -> Floats:
    """The norm of each row."""
    return survey(Vectors.of(block), 1).norms


def padded(ids: Ids, distances: Floats, k: int) -> tuple[Ids, Floats]:
    """Both padded to k columns with id -1 and distance NaN."""
    missing = ((0, 0), (0, k - ids.shape[1]))
    return np.pad(ids, missing, constant_values=-1), np.pad(distances, missing, constant_values=np.nan)


# The nearest rows of queries: candidates in float32, ranked by distances in float64.  Where float32 cannot tell them
# from other rows, as in clusters much tighter than their distance from the centre, the candidates are those of float64.


SPARE = 8
"""Additional candidates, so that rounding does not change the winners."""
_NOTHING = np.iinfo(np.int64).max


def _nothing(rows: int, width: int, kind: Any = np.float32) -> Nearest:
    """Empty lists of ``width`` neighbours."""
    return Nearest(np.full((rows, width), np.inf, kind), np.full((rows, width), _NOTHING))


def settled(
    space: Space, block: Block, own: Ids, candidates: Ids, edge: npt.NDArray[Any] | None, k: int
) -> tuple[Ids, Floats]:
    """The k nearest of each row of a block by distances in float64, without its ``own`` (−1 = none).

    ``edge`` are the values by float32 of the last of the nearest ``candidates``; None where no other row is to be
    considered.
    """
    candidates = np.where((candidates == own[:, None]) | (candidates == _NOTHING), -1, candidates)
    ids, distances = space.rank(block, candidates, k)
    if edge is not None and len(doubt := space.doubt(block, edge, distances[:, -1])):
        ids[doubt], distances[doubt] = _fine(space, Vectors.of(block).take(doubt), own[doubt], k)
    return ids, distances


def _fine(space: Space, block: Block, own: Ids, k: int) -> tuple[Ids, Floats]:
    """The nearest rows of queries by float64, and pair by pair where rows far from the centre hide differences."""
    near, _ = _scan(space, space.queries(block, own, fine=True), k)
    ids, distances = space.rank(block, np.where(near.ids == _NOTHING, -1, near.ids), k)
    for at in space.doubt(block, near.halves[:, -1], distances[:, -1], fine=True):
        others = space.rows[space.rows != own[at]]
        ids[at], distances[at] = space.rank(Vectors.of(block).block(at, at + 1), others[None], k)
    return ids, distances


def _scan(space: Space, down: TilePoints, k: int) -> tuple[Nearest, Floats]:
    """The nearest points of some points among all rows, and their farthest pair as (half, id, id)."""
    kind, size = down.rows.dtype, SIZES.vector_tile_rows
    near = _nothing(len(down.ids), min(k + SPARE, len(space)), kind)
    far = np.full(3, -np.inf)
    for start in range(0, len(space), size):
        across = space.points(space.rows[start : start + size], fine=kind == np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # values beyond all numbers are compared as infinities
            tile = down.rows @ across.rows.T
        scan_tile(tile, down, across, near, _nothing(len(across.ids), 0, kind), far)
    return near, far


@dataclass(frozen=True)
class Join:
    """The neighbours of some rows, (n, k) ascending; the farthest pair found; sums over all pairs if requested."""

    ids: Ids
    distances: Floats
    farthest: tuple[int, int]
    sums: tuple[float, float] = (np.nan, np.nan)


def nearest_of(space: Space, queries: Vectors, own: Ids | None, k: int, threads: int) -> Join:
    """Exact: the k nearest rows of each query without its ``own``; each block of queries passes over all rows."""
    excluded = np.full(queries.rows, -1) if own is None else own
    ids, distances = np.empty((queries.rows, k), np.int64), np.empty((queries.rows, k))
    size = min(512, SIZES.vector_tile_rows)

    def part(start: int) -> Floats:
        here = slice(start, min(start + size, queries.rows))
        block = queries.block(here.start, here.stop)
        near, far = _scan(space, space.queries(block, excluded[here]), k)
        edge = None if near.ids.shape[1] == len(space) else near.halves[:, -1]
        ids[here], distances[here] = settled(space, block, excluded[here], near.ids, edge, k)
        report(WorkDone("comparing vectors", here.stop, "rows", queries.rows))
        return far

    return Join(ids, distances, _farthest(list(ordered(part, range(0, queries.rows, size), threads))))


def join(space: Space, k: int, threads: int, centre_at: float | None = None) -> Join:
    """Exact: the k nearest other rows of every row; each pair's scalar product is computed once.

    With ``centre_at``, also the sums over all pairs of (distance − centre_at) and of its square.
    """
    count, size = len(space), SIZES.vector_tile_rows
    points = [space.points(space.rows[start : start + size]) for start in range(0, count, size)]
    tiles = [(i, j) for i in range(len(points)) for j in range(i, len(points))]
    width = min(k + SPARE, count - 1)

    def work(worker: int) -> tuple[Nearest, list[tuple[Floats, tuple[float, float]]]]:
        near, scanned = _nothing(count, width), []
        for number in range(worker, len(tiles), threads):
            i, j = tiles[number]
            down, across = points[i], points[j]
            tile = down.rows @ across.rows.T
            rows, columns = (slice(n * size, n * size + len(points[n].ids)) for n in (i, j))
            near_across = _nothing(len(across.ids), 0) if i == j else Nearest(near.halves[columns], near.ids[columns])
            far, sums = np.full(3, -np.inf), (np.nan, np.nan)
            scan_tile(tile, down, across, Nearest(near.halves[rows], near.ids[rows]), near_across, far)
            if centre_at is not None:
                sums = distance_sums(tile, down, across, centre_at * space.factor, i == j)
            scanned.append((far, sums))
            report(WorkDone("comparing vectors", number + 1, "tiles", len(tiles)))
        return near, scanned

    lists, by_worker = zip(*ordered(work, range(threads), threads), strict=True)
    scanned = [by_worker[number % threads][number // threads] for number in range(len(tiles))]
    near = _merged(lists)
    ids, distances = np.empty((count, k), np.int64), np.empty((count, k))

    def part(start: int) -> None:
        rows, here = space.rows[start : start + size], slice(start, start + size)
        edge = None if width == count - 1 else near.halves[here, -1]
        ids[here], distances[here] = settled(space, space.block(rows), rows, near.ids[here], edge, k)

    list(ordered(part, range(0, count, size), threads))
    first, second = (float(np.sum([sums[at] for _, sums in scanned])) for at in range(2))
    sums = first / space.factor, second / space.factor**2
    return Join(ids, distances, _farthest([far for far, _ in scanned]), sums)


def _merged(lists: Sequence[Nearest]) -> Nearest:
    """The best of several lists for the same rows, by (distance, id)."""
    if len(lists) == 1:
        return lists[0]
    halves, ids = (np.concatenate([part[at] for part in lists], axis=1) for at in range(2))
    best = np.lexsort((ids, halves), axis=1)[:, : lists[0].ids.shape[1]]
    return Nearest(np.take_along_axis(halves, best, axis=1), np.take_along_axis(ids, best, axis=1))


def _farthest(tiles: Sequence[Floats]) -> tuple[int, int]:
    best = max(tiles, key=lambda far: float(far[0]))
    return int(best[1]), int(best[2])
