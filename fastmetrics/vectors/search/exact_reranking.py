"""The exact nearest rows among candidates, in float64, and a check for rows that float32 errors excluded.

Candidates come from half squared distances h_i + h_j − v_i·v_j in float32, which suffer from cancellation if
neighbours are much nearer to each other than to the centre. If an excluded row can be nearer than a result, the same
formula in float64 leaves few such rows, which are compared exactly. Equal rows are found by their digests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from fastmetrics.base.limits import SIZES
from fastmetrics.base.threads import ordered
from fastmetrics.kernels.vectors import Nearest, TilePoints, close_pairs, offer
from fastmetrics.vectors.centred_vectors import BLOCK, Cloud, Floats, digests
from fastmetrics.vectors.vector_arrays import Block, Ids

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
