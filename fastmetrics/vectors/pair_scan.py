"""All pairs of many vectors: nearest neighbours and distances, computed in tiles of scalar products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from fastmetrics.base.limits import SIZES
from fastmetrics.base.threads import WorkDone, ordered, report
from fastmetrics.kernels.vectors import Nearest, TilePoints, distance_sums, scan_tile
from fastmetrics.vectors.centred_vectors import BLOCK, Cloud, Floats
from fastmetrics.vectors.search.exact_reranking import SPARE, nothing, winners
from fastmetrics.vectors.vector_arrays import Ids


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
            report(WorkDone("comparing vectors", number + 1, "tiles", (number + 1) / len(tiles)))
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
            report(WorkDone("comparing vectors", stop, "rows", stop / count))
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
