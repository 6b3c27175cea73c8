"""Vectors as points around their centre, in the space of a distance.

Distances are represented by half squared distances of centred rows: no digits are lost if all rows are close together,
and for unit rows the half squared distance equals the cosine distance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fastmetrics.base.threads import ordered
from fastmetrics.kernels.vectors import TilePoints, centre, norms_and_sums, pair_halves
from fastmetrics.vectors.vector_arrays import Block, Ids, Metric, Vectors

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
