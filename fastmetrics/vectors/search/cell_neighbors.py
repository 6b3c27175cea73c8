"""Approximate neighbours of every row from the nearest cells only; cells are compared as whole blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import faiss
import numpy as np
import numpy.typing as npt

from fastmetrics.base.limits import SIZES
from fastmetrics.base.threads import ordered
from fastmetrics.kernels.vectors import Nearest, TilePoints, scan_tile
from fastmetrics.vectors.centred_vectors import BLOCK, Cloud, Floats
from fastmetrics.vectors.pair_scan import scan
from fastmetrics.vectors.search.exact_reranking import NOTHING, SPARE, nothing, rank
from fastmetrics.vectors.search.faiss_index import faiss_threads
from fastmetrics.vectors.vector_arrays import Ids

_PER_CELL = 16  # training rows per cell; more do not improve the recall
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
