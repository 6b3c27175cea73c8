"""Principal components: projection of vectors to the two or three dimensions of largest variance."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fastmetrics.base.errors import InputError
from fastmetrics.base.options import Whole, argument
from fastmetrics.base.threads import cores, ordered
from fastmetrics.vectors.centred_vectors import BLOCK, Cloud, Floats, survey
from fastmetrics.vectors.second_moments import Moments
from fastmetrics.vectors.vector_arrays import Vectors, VectorsLike, one_blas_thread

LEAST_SHARE = 1e-12
"""A component with less than this share of the variance is rounding error: its coordinates are 0."""


@dataclass(frozen=True)
class Projection:
    """The projected vectors: ``points`` (rows × dims), and the share of the variance of each dimension."""

    points: Floats = field(repr=False)
    """NaN for a non-finite row."""
    explained: Floats
    """Share of the total variance of each dimension, largest first; 0 if all rows are equal."""
    components: Floats = field(repr=False)
    """The directions, dims × D, of length 1."""


def pca(vectors: VectorsLike, dims: int = 2, *, column: str | None = None, threads: int | None = None) -> Projection:
    """Project vectors onto the ``dims`` directions in which they vary most.

    The directions are the eigenvectors of the exact covariance matrix of all finite rows, with the largest eigenvalues
    first; the coordinates are those of the centred rows.  The entry of a direction with the largest magnitude is
    positive (of several the first), so that equal input gives equal signs.  Where vectors have fewer dimensions than
    ``dims``, or vary in fewer, the other coordinates are 0.

    ``vectors`` is what ``geometry`` takes: a 2-D array, a table or column of lists, or a path.  N rows of D numbers
    take N·D² multiplications and D³ for the eigenvectors, in memory N·dims numbers beside the vectors; threads change
    no bit.

    >>> found = pca([[0.0, 0.0], [2.0, 2.0], [4.0, 4.0]], 1)
    >>> found.points.round(4).ravel().tolist(), found.explained.round(6).tolist()
    ([-2.8284, 0.0, 2.8284], [1.0])

    Raises ``InputError`` where no row is finite, ``ColumnError`` for rows of different lengths, ``OptionError`` for
    ``dims`` below 1.
    """
    dims = argument("dims", dims, Whole(1, 1000))
    workers = cores(threads)
    matrix = Vectors.of(vectors, column)
    with one_blas_thread():
        overview = survey(matrix, workers)
        if not overview.finite.any() or not matrix.dim:
            raise InputError(f"none of the {matrix.rows} rows is a finite vector to project")
        cloud = Cloud(matrix, overview, "euclidean")
        scatter = Moments(cloud, workers).scatter
        values, directions = np.linalg.eigh(scatter)
        n_axes = min(dims, matrix.dim)
        components, explained = np.zeros((dims, matrix.dim)), np.zeros(dims)
        components[:n_axes] = _signed(directions[:, ::-1][:, :n_axes].T)
        total = float(np.trace(scatter))
        if total > 0:
            explained[:n_axes] = np.clip(values[::-1][:n_axes], 0.0, None) / total
        explained[explained < LEAST_SHARE] = 0.0
        points = np.full((matrix.rows, dims), np.nan)
        axes = (components * (explained > 0)[:, None]).T

        def part(start: int) -> tuple[int, Floats]:
            stop = min(start + BLOCK, len(cloud))
            return start, (cloud.centred_in_float64(start, stop) @ axes) / cloud.factor

        for start, placed in ordered(part, range(0, len(cloud), BLOCK), workers):
            points[cloud.rows[start : start + len(placed)]] = placed
    return Projection(points, explained, components)


def _signed(directions: npt.NDArray[np.float64]) -> Floats:
    """Directions with signs such that the entry with the largest magnitude is positive."""
    size = np.abs(directions)
    largest = np.argmax(size >= size.max(axis=1, keepdims=True) * (1 - 1e-9), axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return np.asarray(directions * np.where(signs == 0, 1.0, signs)[:, None])
