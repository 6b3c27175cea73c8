"""The space in which rows of a corpus and queries are compared: directions or original rows, around one centre."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fastmetrics.base.errors import InputError
from fastmetrics.kernels.vectors import TilePoints, centre, pair_halves, pair_products
from fastmetrics.vectors.centred_vectors import Cloud, Floats, survey
from fastmetrics.vectors.search.exact_reranking import blur, fine_blur
from fastmetrics.vectors.vector_arrays import Block, Ids, Vectors


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
