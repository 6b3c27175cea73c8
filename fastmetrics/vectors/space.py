"""Where the rows of a corpus and of queries are compared: as directions or as they are, around one centre."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fastmetrics.errors import InputError
from fastmetrics.kernels.geometry import centre, pair_halves, pair_products
from fastmetrics.vectors.arrays import Block, Ids, Vectors
from fastmetrics.vectors.pairs import Floats, survey


@dataclass(frozen=True)
class Space:
    """Where rows are compared: their directions or themselves, moved to the corpus's centre unless for ``dot``."""

    vectors: Vectors
    metric: str
    norms: Floats
    mean: Floats

    @classmethod
    def of(cls, vectors: Vectors, metric: str, threads: int) -> Space:
        found = survey(vectors, threads)
        means = {"cosine": found.unit_mean, "euclidean": found.mean, "dot": np.zeros(vectors.dim)}
        single = vectors if vectors.single else Vectors.of(np.array(vectors.all()))
        return cls(single, metric, found.norms, means[metric])

    @property
    def zero(self) -> npt.NDArray[np.bool_]:
        """Rows without a direction, where directions are compared."""
        return np.asarray((self.norms == 0) & (self.metric == "cosine"))

    def scales(self, norms: Floats) -> Floats:
        """What rows of these norms are multiplied by."""
        if self.metric != "cosine":
            return np.ones(len(norms))
        return np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > 0)

    def rows(self, block: Block, first: int = 0) -> npt.NDArray[np.float32]:
        """The block's rows as FAISS compares them."""
        norms = survey(Vectors.of(block), 1).norms
        check_finite(norms, "query", first)
        rows, squares = np.empty(block.shape, np.float32), np.empty(len(block))
        centre(block, self.scales(norms), self.mean, 1.0, rows, squares)
        return rows

    def rank(self, block: Block, candidates: Ids, k: int) -> tuple[Ids, Floats]:
        """The k nearest of each row's candidates (−1 = none), by distances worked out in float64."""
        norms = survey(Vectors.of(block), 1).norms
        corpus = self.vectors.all()
        one = np.repeat(np.arange(len(candidates)), candidates.shape[1])
        other = np.maximum(candidates.ravel(), 0)
        distances = np.empty(len(one))
        if self.metric == "dot":
            pair_products(block, corpus, one, other, distances)
            np.negative(distances, out=distances)
        else:
            scales = self.scales(norms[one]), self.scales(self.norms[other])
            pair_halves(block, corpus, one, other, *scales, distances)
            if self.metric == "cosine":
                distances[(norms[one] == 0) | (self.norms[other] == 0)] = 1.0
            else:
                np.sqrt(2.0 * distances, out=distances)
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
    """Both widened to k columns: id -1 and distance NaN where there were fewer neighbours."""
    missing = ((0, 0), (0, k - ids.shape[1]))
    return np.pad(ids, missing, constant_values=-1), np.pad(distances, missing, constant_values=np.nan)
