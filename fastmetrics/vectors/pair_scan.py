"""All pairs of many vectors: points around their centre, tiles of scalar products, and exact distances of the
nearest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fastmetrics.base.limits import SIZES
from fastmetrics.base.progress import WorkDone, report
from fastmetrics.base.threads import ordered
from fastmetrics.kernels.vectors import (
    Nearest,
    TilePoints,
    centre,
    close_pairs,
    distance_sums,
    norms_and_sums,
    offer,
    pair_halves,
    scan_tile,
)
from fastmetrics.vectors.vector_arrays import Block, Ids, Metric, Vectors

# Vectors as points around their centre, in the space of a distance.
#
# Distances are represented by half squared distances of centred rows: no digits are lost if all rows are close
# together, and for unit rows the half squared distance equals the cosine distance.


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


def zero_note(n: int, rows: str, effect: str) -> list[str]:
    """A note that ``n`` of the ``rows`` have no cosine, and what follows; none without such a row.

    >>> zero_note(2, "queries", "such a ranking says nothing")
    ['2 zero vectors among the queries, whose cosine is undefined: such a ranking says nothing']
    """
    vectors = f"{n:,} zero vector{'s' * (n != 1)}"
    return [f"{vectors} among the {rows}, whose cosine is undefined: {effect}"] if n else []


def digests(rows: Block) -> list[bytes]:
    """A 16-byte digest of each row; equal rows have equal digests (-0.0 equals 0.0)."""
    return [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in rows + 0.0]


class Cloud:
    """The finite rows of some vectors as points around their mean; unit directions if ``metric`` is cosine.

    A zero vector has no direction: its cosine distance to every other row is 1.
    """

    def __init__(self, vectors: Vectors, overview: Survey, metric: Metric) -> None:
        self.vectors = vectors
        self.metric = metric
        self.rows: Ids = np.flatnonzero(overview.finite)
        self.whole = len(self.rows) == vectors.rows
        self.mean = overview.unit_mean if metric == "cosine" else overview.mean
        norms = overview.norms[self.rows]
        self.zero = norms == 0 if metric == "cosine" else np.zeros(len(norms), np.bool_)
        self.scales: Floats = np.ones(len(norms))
        if metric == "cosine":
            self.scales = np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > 0)
        self.factor = self._factor(norms)

    def __len__(self) -> int:
        return len(self.rows)

    def _factor(self, norms: Floats) -> float:
        """Scale of the centred rows to norms of about 1, so that float32 neither overflows nor underflows."""
        squares = np.where(self.zero, 0.0, norms * self.scales) ** 2
        spread = float(np.mean(squares) - self.mean @ self.mean) if len(norms) else 0.0
        floor = 1e-14 * float(np.max(squares, initial=0.0))
        size = np.sqrt(max(spread, floor))
        return 1.0 / float(size) if size > 0 else 1.0

    def block(self, start: int, stop: int) -> Block:
        """The original rows."""
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
        """Each row's summand in the half squared distance of its pairs: h_i + h_j − scalar product."""
        return np.where(self.zero[rows], 0.5 * (1.0 + self.mean @ self.mean), 0.5 * squares)

    def points(self, start: int, stop: int) -> TilePoints:
        """The centred rows with their :meth:`halves`, times factor²; ids are numbers of the cloud's rows."""
        rows, squares = self.centred(start, stop)
        halves = (self.halves(squares, slice(start, stop)) * self.factor**2).astype(np.float32)
        return TilePoints(rows, halves, np.arange(start, stop))

    def points_of(self, rows: Ids) -> TilePoints:
        """:meth:`points` for the given rows of the cloud."""
        centred, halves = np.empty((len(rows), self.vectors.dim), np.float32), np.empty(len(rows), np.float32)
        for start in range(0, len(rows), BLOCK):
            here = rows[start : start + BLOCK]
            squares = np.empty(len(here))
            block = self.vectors.take(self.rows[here])
            centre(block, self.scales[here], self.mean, self.factor, centred[start : start + BLOCK], squares)
            halves[start : start + BLOCK] = self.halves(squares, here) * self.factor**2
        return TilePoints(centred, halves, rows.copy())

    def fine_points(self, rows: Ids) -> TilePoints:
        """:meth:`points_of` in float64."""
        block = self.vectors.take(self.rows[rows]).astype(np.float64)
        centred = (block * self.scales[rows, None] - self.mean) * self.factor
        squares = np.einsum("ij,ij->i", centred, centred) / self.factor**2
        return TilePoints(centred, self.halves(squares, rows) * self.factor**2, rows)

    def directions(self, rows: Ids) -> Floats:
        """The given rows, scaled, in float64, for comparing pairs."""
        return np.asarray(self.vectors.take(self.rows[rows]).astype(np.float64) * self.scales[rows, None])

    def stretches(self) -> Iterator[tuple[Ids, Floats]]:
        """The numbers and the :meth:`directions` of all rows, block by block."""
        for start in range(0, len(self), BLOCK):
            rows = np.arange(start, min(start + BLOCK, len(self)))
            yield rows, self.directions(rows)

    def pair_halves(self, left: Ids, right: Ids) -> Floats:
        """Half the squared distance of each pair of different rows of the cloud, in float64."""
        halves = np.empty(len(left))
        for start in range(0, len(left), 1 << 16):
            here = slice(start, start + (1 << 16))
            i, j = left[here], right[here]
            scales = self.scales[i], self.scales[j]
            if self.vectors.single:
                matrix = self.vectors.all()
                pair_halves(matrix, matrix, self.rows[i], self.rows[j], *scales, halves[here])
            else:
                index = np.arange(len(i))
                pair = self.vectors.take(self.rows[i]), self.vectors.take(self.rows[j])
                pair_halves(*pair, index, index, *scales, halves[here])
        halves[self.zero[left] | self.zero[right]] = 1.0
        return halves

    def distance(self, halves: Floats) -> Floats:
        """Distances in the cloud's metric from half squared distances."""
        return halves if self.metric == "cosine" else np.sqrt(2.0 * halves)


# The exact nearest rows among candidates, in float64, and a check for rows that float32 errors excluded.
#
# Candidates come from half squared distances h_i + h_j − v_i·v_j in float32, which suffer from cancellation if
# neighbours are much nearer to each other than to the centre. If an excluded row can be nearer than a result, the same
# formula in float64 leaves few such rows, which are compared exactly. Equal rows are found by their digests.


_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53  # unit roundoffs of float32 and float64

NOTHING = np.iinfo(np.int64).max
SPARE = 8  # additional candidates in float32, so that its rounding does not change the winners in float64


def nothing(rows: int, width: int) -> Nearest:
    """Empty lists of ``width`` neighbours, filled with ``NOTHING``."""
    return Nearest(np.full((rows, width), np.inf, np.float32), np.full((rows, width), NOTHING))


def blur(norms: Floats, last: Floats, dim: int) -> Floats:
    """Maximum float32 error of the half squared distance between a row and a neighbour no farther than ``last``."""
    reach = norms + np.sqrt(2.0 * np.maximum(last, 0.0))
    return np.asarray((8.0 + 2.0 * np.sqrt(dim)) * _SINGLE * reach**2)


def fine_blur(norms: Floats, last: Floats, dim: int, middle: float) -> Floats:
    """:func:`blur` for float64; ``middle`` is the distance of the centre from 0."""
    reach = norms + np.sqrt(2.0 * np.maximum(last, 0.0))
    unit = (8.0 + 2.0 * np.sqrt(dim)) * _DOUBLE
    return np.asarray(unit * reach * (2.0 * reach + middle) + (unit * middle) ** 2)


def settled(
    down: TilePoints,
    last: Floats,
    error: Floats,
    tiles: Iterable[TilePoints],
    exact: Callable[[Ids, Ids], Floats],
    k: int,
) -> Nearest:
    """The k nearest of each row among the rows of ``tiles``; the k-th is no farther than ``last``.

    ``error`` is the maximum error of the values of ``down`` and ``tiles``; ``exact`` computes the distances between
    positions in ``down`` and ids. If fewer than k rows were found, the rest is ``NOTHING``.
    """
    near, rough = (Nearest(np.full((len(last), k), np.inf), np.full((len(last), k), NOTHING)) for _ in range(2))
    limits = np.column_stack([last + error, 2.0 * error])
    for across in tiles:
        places = np.empty((2, len(last) * len(across.ids)), np.int32)
        with np.errstate(over="ignore", invalid="ignore"):  # overflowing values are compared as infinities
            count = close_pairs(down.rows @ across.rows.T, down, across, rough, limits, places)
        left, right = places[0, :count].astype(np.int64), across.ids[places[1, :count]]
        offer(near, left, right, exact(left, right))
    return near


def alike(queries: Block, own: Ids, stretches: Iterable[tuple[Ids, Block]], k: int) -> Ids:
    """The first k rows, by number, that equal each requested row, except its ``own``; filled up with ``NOTHING``.

    ``stretches`` are blocks of ascending row numbers and the rows to choose from.
    """
    keys = digests(queries)
    members: dict[bytes, list[int]] = {key: [] for key in keys}
    for numbers, rows in stretches:
        for number, key in zip(numbers.tolist(), digests(rows), strict=True):
            if key in members and len(members[key]) <= k:
                members[key].append(number)
    firsts = np.full((len(keys), k), NOTHING)
    for place, (key, itself) in enumerate(zip(keys, own.tolist(), strict=True)):
        equal = [number for number in members[key] if number != itself][:k]
        firsts[place, : len(equal)] = equal
    return firsts


def _merge(lists: Sequence[Nearest]) -> Nearest:
    """The best of several lists for the same rows, by (distance, id)."""
    if len(lists) == 1:
        return lists[0]
    halves = np.concatenate([part.halves for part in lists], axis=1)
    ids = np.concatenate([part.ids for part in lists], axis=1)
    best = np.lexsort((ids, halves), axis=1)[:, : lists[0].ids.shape[1]]
    return Nearest(np.take_along_axis(halves, best, axis=1), np.take_along_axis(ids, best, axis=1))


def winners(
    cloud: Cloud, queries: Ids, own: npt.NDArray[np.float32], lists: Sequence[Nearest], k: int, threads: int
) -> tuple[Ids, Floats]:
    """The k nearest of each query, from the float32 candidates among all rows; ``own`` are the queries' ``halves``."""
    near = _merge(lists)
    ids, halves = rank(cloud, queries, near.ids, k, threads)
    if near.ids.shape[1] == len(cloud) - 1:
        return ids, halves
    last = halves[:, -1] * cloud.factor**2
    error = blur(np.sqrt(2.0 * own), last, cloud.vectors.dim)
    zero = cloud.zero[queries]  # a zero vector is equally far from all rows
    unsure = ~(near.halves[:, -1] - error > last) & ~zero
    ids[zero] = np.arange(k) + (np.arange(k) >= queries[zero, None])
    equal = np.flatnonzero(unsure & (last == 0))  # distance 0, but an omitted row may have a smaller id
    if len(equal):
        first = alike(cloud.directions(queries[equal]), queries[equal], cloud.stretches(), k)
        ids[equal] = np.where(first[:, -1:] == NOTHING, ids[equal], first)
    doubt = np.flatnonzero(unsure & (last > 0))
    size = SIZES.vector_tile_rows

    def part(start: int) -> Nearest:
        places = doubt[start : start + size]
        rows = queries[places]
        down = cloud.fine_points(rows)
        middle = float(np.linalg.norm(cloud.mean)) * cloud.factor
        fine = fine_blur(np.sqrt(2.0 * down.halves), last[places], cloud.vectors.dim, middle)
        tiles = (cloud.fine_points(np.arange(at, min(at + size, len(cloud)))) for at in range(0, len(cloud), size))
        return settled(down, last[places], fine, tiles, lambda left, right: cloud.pair_halves(rows[left], right), k)

    for start, best in zip(range(0, len(doubt), size), ordered(part, range(0, len(doubt), size), threads), strict=True):
        ids[doubt[start : start + size]], halves[doubt[start : start + size]] = best.ids, best.halves
    return ids, halves


def rank(cloud: Cloud, queries: Ids, candidates: Ids, k: int, threads: int) -> tuple[Ids, Floats]:
    """The k nearest of each query's candidates (−1 = none), by distances recomputed in float64, ties by id."""

    def part(start: int) -> tuple[Ids, Floats]:
        ids = candidates[start : start + BLOCK]
        left = np.repeat(queries[start : start + BLOCK], ids.shape[1])
        halves = cloud.pair_halves(left, np.maximum(ids, 0).ravel()).reshape(ids.shape)
        halves[ids < 0] = np.nan
        best = np.lexsort((ids, halves), axis=1)[:, :k]
        return np.take_along_axis(ids, best, axis=1), np.take_along_axis(halves, best, axis=1)

    parts = list(ordered(part, range(0, len(queries), BLOCK), threads))
    return np.concatenate([ids for ids, _ in parts]), np.concatenate([halves for _, halves in parts])


# All pairs of many vectors: nearest neighbours and distances, computed in tiles of scalar products.


@dataclass(frozen=True)
class Join:
    """The neighbours of some rows, (n, k) ascending; the farthest pair found; sums over all pairs if requested."""

    ids: Ids
    halves: Floats
    farthest: tuple[int, int]
    sums: tuple[float, float] = (np.nan, np.nan)


@dataclass(frozen=True)
class _Tile:
    """Result of one tile: its farthest pair as (half, id, id), and its sums."""

    number: int
    far: Floats
    sums: tuple[float, float] = (np.nan, np.nan)


def join(cloud: Cloud, k: int, threads: int, centre_at: float | None = None) -> Join:
    """Exact: the k nearest other rows of every row; each pair's scalar product is computed once.

    With ``centre_at``, also the sums over all pairs of (distance − centre_at) and of its square.
    """
    count, size = len(cloud), SIZES.vector_tile_rows
    points = [cloud.points(start, min(start + size, count)) for start in range(0, count, size)]
    tiles = [(i, j) for i in range(len(points)) for j in range(i, len(points))]
    width = min(k + SPARE, count - 1)

    def work(worker: int) -> tuple[Nearest, list[_Tile]]:
        near = nothing(count, width)
        scanned = []
        for number in range(worker, len(tiles), threads):
            i, j = tiles[number]
            down, across = points[i], points[j]
            tile = down.rows @ across.rows.T
            rows, columns = (slice(n * size, n * size + len(points[n].ids)) for n in (i, j))
            near_across = nothing(len(across.ids), 0) if i == j else Nearest(near.halves[columns], near.ids[columns])
            far = np.full(3, -np.inf)
            scan_tile(tile, down, across, Nearest(near.halves[rows], near.ids[rows]), near_across, far)
            sums = (np.nan, np.nan)
            if centre_at is not None:
                sums = distance_sums(tile, down, across, centre_at * cloud.factor, i == j)
            scanned.append(_Tile(number, far, sums))
            report(WorkDone("comparing vectors", number + 1, "tiles", len(tiles)))
        return near, scanned

    done = list(ordered(work, range(threads), threads))
    scanned = sorted((tile for _, mets in done for tile in mets), key=lambda tile: tile.number)
    ids, halves = winners(
        cloud,
        np.arange(count),
        np.concatenate([block.halves for block in points]),
        [near for near, _ in done],
        k,
        threads,
    )
    first = float(np.sum([tile.sums[0] for tile in scanned])) / cloud.factor
    second = float(np.sum([tile.sums[1] for tile in scanned])) / cloud.factor**2
    return Join(ids, halves, _farthest_of(scanned), (first, second))


def scan(cloud: Cloud, queries: Ids, k: int, threads: int) -> Join:
    """Exact: the k nearest other rows of the given rows of the cloud, in one pass over all rows."""
    count, size = len(cloud), SIZES.vector_tile_rows
    width = min(k + SPARE, count - 1)
    down = cloud.points_of(queries)

    def work(worker: int) -> tuple[Nearest, list[_Tile]]:
        near = nothing(len(queries), width)
        scanned = []
        for start in range(worker * size, count, threads * size):
            across = cloud.points(start, min(start + size, count))
            far = np.full(3, -np.inf)
            scan_tile(down.rows @ across.rows.T, down, across, near, nothing(len(across.ids), 0), far)
            scanned.append(_Tile(start, far))
            stop = min(start + size, count)
            report(WorkDone("comparing vectors", stop, "rows", count))
        return near, scanned

    done = list(ordered(work, range(threads), threads))
    scanned = sorted((tile for _, mets in done for tile in mets), key=lambda tile: tile.number)
    ids, halves = winners(cloud, queries, down.halves, [near for near, _ in done], k, threads)
    return Join(ids, halves, _farthest_of(scanned))


def _farthest_of(tiles: Sequence[_Tile]) -> tuple[int, int]:
    best = max(tiles, key=lambda tile: float(tile.far[0])).far
    return int(best[1]), int(best[2])


def farthest(cloud: Cloud, starts: Ids, sweeps: int, threads: int) -> tuple[int, int]:
    """A distant pair: from each start to its farthest row, repeated from there ``sweeps`` times.

    Its distance is a lower bound of the diameter, and usually equals the diameter.
    """
    best = (-np.inf, int(starts[0]), int(starts[0]))
    for _ in range(sweeps):
        down = cloud.points_of(starts)
        part = partial(_farthest_in_block, cloud, down)
        parts = list(ordered(part, range(0, len(cloud), BLOCK), threads))
        halves = np.stack([half for half, _ in parts])
        ends = np.stack([ids for _, ids in parts])[np.argmax(halves, axis=0), np.arange(len(starts))]
        tops = halves.max(axis=0)
        top = int(np.argmax(tops))
        if tops[top] > best[0]:
            best = (float(tops[top]), int(starts[top]), int(ends[top]))
        starts = np.unique(ends)
    return best[1], best[2]


def _farthest_in_block(cloud: Cloud, down: TilePoints, start: int) -> tuple[npt.NDArray[np.float32], Ids]:
    across = cloud.points(start, min(start + BLOCK, len(cloud)))
    halves = down.halves[:, None] + across.halves - down.rows @ across.rows.T
    halves[down.ids[:, None] == across.ids] = -np.inf  # excludes pairs of a row with itself
    ends = np.argmax(halves, axis=1)
    return halves[np.arange(len(down.ids)), ends], ends + start
