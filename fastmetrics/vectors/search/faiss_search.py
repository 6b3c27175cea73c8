"""Searching a FAISS index: candidates by its codes, re-ranking by exact distances, and tuning for a recall."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import faiss
import numpy as np

from fastmetrics.base.threads import ordered
from fastmetrics.vectors.centred_vectors import Floats
from fastmetrics.vectors.search.cell_neighbors import share_found
from fastmetrics.vectors.search.exact_reranking import NOTHING, SPARE, alike, settled
from fastmetrics.vectors.search.faiss_index import BATCH, flat
from fastmetrics.vectors.search.search_space import Space
from fastmetrics.vectors.vector_arrays import Block, Ids, Vectors

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
