"""All pairs of many vectors: who is near to whom, how far apart they are, in tiles of scalar products.

Distances are worked with as half squared distances of rows moved to their centre: no digits are lost where all rows
lie close together, and for unit rows the half squared distance is the cosine distance itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from fastmetrics.kernels.geometry import (
    Nearest,
    Points,
    centre,
    distance_sums,
    norms_and_sums,
    pair_halves,
    scan_tile,
)
from fastmetrics.vectors.arrays import Block, Ids, Vectors, in_order

Floats: TypeAlias = npt.NDArray[np.float64]
Metric: TypeAlias = Literal["cosine", "euclidean"]

BLOCK = 4096
TILE = 1024
SPARE = 8  # float32 decides who is a candidate, float64 who wins: the spare places absorb its rounding


@dataclass(frozen=True)
class Survey:
    """What one pass over the rows finds: their norms (not finite where the row is not) and two means."""

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

    for sums, unit_sums in in_order(part, range(0, vectors.rows, BLOCK), threads):
        total += sums
        unit_total += unit_sums
    count = max(int(np.isfinite(norms).sum()), 1)
    return Survey(norms, total / count, unit_total / count)


class Cloud:
    """The finite rows of some vectors as points around their mean; unit directions where ``metric`` is cosine.

    A zero vector has no direction: its cosine distance to every other row is 1.
    """

    def __init__(self, vectors: Vectors, found: Survey, metric: Metric) -> None:
        self.vectors = vectors
        self.metric = metric
        self.rows: Ids = np.flatnonzero(found.finite)
        self.whole = len(self.rows) == vectors.rows
        self.mean = found.unit_mean if metric == "cosine" else found.mean
        norms = found.norms[self.rows]
        self.zero = norms == 0 if metric == "cosine" else np.zeros(len(norms), np.bool_)
        self.scales: Floats = np.ones(len(norms))
        if metric == "cosine":
            self.scales = np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > 0)
        self.factor = self._factor(norms)

    def __len__(self) -> int:
        return len(self.rows)

    def _factor(self, norms: Floats) -> float:
        """Brings the centred rows to norms of about 1, so that float32 neither overflows nor underflows."""
        squares = np.where(self.zero, 0.0, norms * self.scales) ** 2
        spread = float(np.mean(squares) - self.mean @ self.mean) if len(norms) else 0.0
        floor = 1e-14 * float(np.max(squares, initial=0.0))
        size = np.sqrt(max(spread, floor))
        return 1.0 / float(size) if size > 0 else 1.0

    def block(self, start: int, stop: int) -> Block:
        """The rows themselves, as they were given."""
        return self.vectors.block(start, stop) if self.whole else self.vectors.take(self.rows[start:stop])

    def centred(self, start: int, stop: int) -> tuple[npt.NDArray[np.float32], Floats]:
        """Rows around the mean times ``factor``, and their squared norms (before the factor)."""
        rows = np.empty((stop - start, self.vectors.dim), np.float32)
        squares = np.empty(stop - start)
        centre(self.block(start, stop), self.scales[start:stop], self.mean, self.factor, rows, squares)
        return rows, squares

    def centred_in_float64(self, start: int, stop: int) -> Floats:
        """The rows of :meth:`centred` before they are rounded to float32."""
        rows = self.block(start, stop).astype(np.float64) * self.scales[start:stop, None] - self.mean
        return np.asarray(rows * self.factor)

    def halves(self, squares: Floats, rows: slice | Ids) -> Floats:
        """What each row adds to the half squared distance of its pairs, beside minus the scalar product."""
        return np.where(self.zero[rows], 0.5 * (1.0 + self.mean @ self.mean), 0.5 * squares)

    def points(self, start: int, stop: int) -> Points:
        """The centred rows with what they add to half squared distances, times factor²; ids count the cloud's rows."""
        rows, squares = self.centred(start, stop)
        halves = (self.halves(squares, slice(start, stop)) * self.factor**2).astype(np.float32)
        return Points(rows, halves, np.arange(start, stop))

    def points_of(self, rows: Ids) -> Points:
        """:meth:`points` for rows anywhere in the cloud."""
        centred, halves = np.empty((len(rows), self.vectors.dim), np.float32), np.empty(len(rows), np.float32)
        for start in range(0, len(rows), BLOCK):
            here = rows[start : start + BLOCK]
            squares = np.empty(len(here))
            block = self.vectors.take(self.rows[here])
            centre(block, self.scales[here], self.mean, self.factor, centred[start : start + BLOCK], squares)
            halves[start : start + BLOCK] = self.halves(squares, here) * self.factor**2
        return Points(centred, halves, rows.copy())

    def pair_halves(self, one: Ids, other: Ids) -> Floats:
        """Half the squared distance of each pair of the cloud's rows, in float64."""
        halves = np.empty(len(one))
        for start in range(0, len(one), 1 << 16):
            here = slice(start, start + (1 << 16))
            i, j = one[here], other[here]
            scales = self.scales[i], self.scales[j]
            if self.vectors.single:
                matrix = self.vectors.all()
                pair_halves(matrix, matrix, self.rows[i], self.rows[j], *scales, halves[here])
            else:
                index = np.arange(len(i))
                taken = self.vectors.take(self.rows[i]), self.vectors.take(self.rows[j])
                pair_halves(*taken, index, index, *scales, halves[here])
        halves[(self.zero[one] | self.zero[other]) & (one != other)] = 1.0
        return halves

    def distance(self, halves: Floats) -> Floats:
        """Distances in the cloud's metric from half squared distances."""
        return halves if self.metric == "cosine" else np.sqrt(2.0 * halves)


@dataclass(frozen=True)
class Join:
    """The neighbours of some rows, (n, k) ascending; the farthest pair met; sums over all pairs where asked for."""

    ids: Ids
    halves: Floats
    farthest: tuple[int, int]
    sums: tuple[float, float] = (np.nan, np.nan)


@dataclass(frozen=True)
class _Tile:
    """What one tile told: its farthest pair as (half, id, id), and its sums."""

    number: int
    far: Floats
    sums: tuple[float, float] = (np.nan, np.nan)


NOTHING = np.iinfo(np.int64).max


def nothing(rows: int, kept: int) -> Nearest:
    """Empty lists of ``kept`` neighbours; ``NOTHING`` stands where a neighbour will."""
    return Nearest(np.full((rows, kept), np.inf, np.float32), np.full((rows, kept), NOTHING))


def _merge(found: Sequence[Nearest]) -> Ids:
    """The best of several lists for the same rows, by (distance, id)."""
    if len(found) == 1:
        return np.asarray(found[0].ids)
    halves = np.concatenate([one.halves for one in found], axis=1)
    ids = np.concatenate([one.ids for one in found], axis=1)
    best = np.lexsort((ids, halves), axis=1)[:, : found[0].ids.shape[1]]
    return np.take_along_axis(ids, best, axis=1)


def rank(cloud: Cloud, queries: Ids, candidates: Ids, k: int, threads: int) -> tuple[Ids, Floats]:
    """The k nearest of each query's candidates (−1 = none), by distances worked out again in float64, ties by id."""

    def part(start: int) -> tuple[Ids, Floats]:
        ids = candidates[start : start + BLOCK]
        one = np.repeat(queries[start : start + BLOCK], ids.shape[1])
        halves = cloud.pair_halves(one, np.maximum(ids, 0).ravel()).reshape(ids.shape)
        halves[ids < 0] = np.nan
        best = np.lexsort((ids, halves), axis=1)[:, :k]
        return np.take_along_axis(ids, best, axis=1), np.take_along_axis(halves, best, axis=1)

    parts = list(in_order(part, range(0, len(queries), BLOCK), threads))
    return np.concatenate([ids for ids, _ in parts]), np.concatenate([halves for _, halves in parts])


def join(cloud: Cloud, k: int, threads: int, centre_at: float | None = None) -> Join:
    """Exact: the k nearest other rows of every row, from each pair's scalar product worked out once.

    With ``centre_at``, also the sums over all pairs of (distance − centre_at) and of its square.
    """
    count = len(cloud)
    points = [cloud.points(start, min(start + TILE, count)) for start in range(0, count, TILE)]
    tiles = [(i, j) for i in range(len(points)) for j in range(i, len(points))]
    kept = min(k + SPARE, count - 1)

    def work(worker: int) -> tuple[Nearest, list[_Tile]]:
        near = nothing(count, kept)
        met = []
        for number in range(worker, len(tiles), threads):
            i, j = tiles[number]
            down, across = points[i], points[j]
            tile = down.rows @ across.rows.T
            rows, columns = (slice(n * TILE, n * TILE + len(points[n].ids)) for n in (i, j))
            near_across = nothing(len(across.ids), 0) if i == j else Nearest(near.halves[columns], near.ids[columns])
            far = np.full(3, -np.inf)
            scan_tile(tile, down, across, Nearest(near.halves[rows], near.ids[rows]), near_across, far)
            sums = (np.nan, np.nan)
            if centre_at is not None:
                sums = distance_sums(tile, down, across, centre_at * cloud.factor, i == j)
            met.append(_Tile(number, far, sums))
        return near, met

    done = list(in_order(work, range(threads), threads))
    met = sorted((one for _, mets in done for one in mets), key=lambda one: one.number)
    ids, halves = rank(cloud, np.arange(count), _merge([near for near, _ in done]), k, threads)
    first = float(np.sum([one.sums[0] for one in met])) / cloud.factor
    second = float(np.sum([one.sums[1] for one in met])) / cloud.factor**2
    return Join(ids, halves, _farthest_of(met), (first, second))


def scan(cloud: Cloud, queries: Ids, k: int, threads: int) -> Join:
    """Exact: the k nearest other rows of the given rows of the cloud, streaming over all rows once."""
    count = len(cloud)
    kept = min(k + SPARE, count - 1)
    down = cloud.points_of(queries)

    def work(worker: int) -> tuple[Nearest, list[_Tile]]:
        near = nothing(len(queries), kept)
        met = []
        for start in range(worker * TILE, count, threads * TILE):
            across = cloud.points(start, min(start + TILE, count))
            far = np.full(3, -np.inf)
            scan_tile(down.rows @ across.rows.T, down, across, near, nothing(len(across.ids), 0), far)
            met.append(_Tile(start, far))
        return near, met

    done = list(in_order(work, range(threads), threads))
    met = sorted((one for _, mets in done for one in mets), key=lambda one: one.number)
    ids, halves = rank(cloud, queries, _merge([near for near, _ in done]), k, threads)
    return Join(ids, halves, _farthest_of(met))


def _farthest_of(tiles: Sequence[_Tile]) -> tuple[int, int]:
    best = max(tiles, key=lambda one: float(one.far[0])).far
    return int(best[1]), int(best[2])


def farthest(cloud: Cloud, starts: Ids, sweeps: int, threads: int) -> tuple[int, int]:
    """A pair that is far apart: from each start to its farthest row, and on from there, ``sweeps`` times.

    Its distance is a lower bound of the diameter, and most often the diameter.
    """
    best = (-np.inf, int(starts[0]), int(starts[0]))
    for _ in range(sweeps):
        down = cloud.points_of(starts)
        part = partial(_farthest_in_block, cloud, down)
        parts = list(in_order(part, range(0, len(cloud), BLOCK), threads))
        halves = np.stack([half for half, _ in parts])
        ends = np.stack([ids for _, ids in parts])[np.argmax(halves, axis=0), np.arange(len(starts))]
        tops = halves.max(axis=0)
        top = int(np.argmax(tops))
        if tops[top] > best[0]:
            best = (float(tops[top]), int(starts[top]), int(ends[top]))
        starts = np.unique(ends)
    return best[1], best[2]


def _farthest_in_block(cloud: Cloud, down: Points, start: int) -> tuple[npt.NDArray[np.float32], Ids]:
    across = cloud.points(start, min(start + BLOCK, len(cloud)))
    halves = down.halves[:, None] + across.halves - down.rows @ across.rows.T
    ends = np.argmax(halves, axis=1)
    return halves[np.arange(len(down.ids)), ends], ends + start
