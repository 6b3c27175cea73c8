"""``fm.project``: projection of vectors to 2-D or 3-D points by principal components, PaCMAP or UMAP."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.base.arrays import Flags
from fastmetrics.base.display import Grid, Shown, number
from fastmetrics.base.errors import InputError
from fastmetrics.base.options import Choice, Seed, Whole, argument
from fastmetrics.base.threads import cores
from fastmetrics.vectors.centred_vectors import Floats
from fastmetrics.vectors.projection.pacmap_and_umap import check_installed, layout
from fastmetrics.vectors.projection.principal_components import pca
from fastmetrics.vectors.projection.trustworthiness import trustworthiness
from fastmetrics.vectors.search.neighbors import nearest
from fastmetrics.vectors.vector_arrays import Vectors, VectorsLike
from fastmetrics.vectors.vectors_and_ids import vectors_and_ids

METHODS = ("pca", "pacmap", "umap")
NEIGHBOURS = 15
PLACED_BY = 5
"""Number of nearest sampled rows that determine the position of another row."""
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Points(Shown):
    """The projected position of each vector, and measures of the projection's quality.

    ``explained`` is the share of variance of each dimension of ``pca``, None for other methods.
    """

    method: str
    dims: int
    rows: int
    sampled: int
    """Rows that the projection was computed from; ``trustworthiness`` covers them."""
    placed: int
    """Other rows, positioned by their nearest neighbours among the sampled rows."""
    left_out: int
    """Rows without a position: non-finite rows, and zero vectors, whose cosine is undefined."""
    explained: tuple[float, ...] | None
    trustworthiness: float
    points: Floats = field(repr=False)
    """rows × dims; NaN for a row left out."""
    in_sample: Flags = field(repr=False)
    ids: pa.Array = field(repr=False)

    def to_arrow(self) -> pa.Table:
        """One row per vector: ``id``, ``x``, ``y`` (and ``z``), null without a position, and ``sampled``."""
        axes = {name: pa.array(self.points[:, at], from_pandas=True) for at, name in enumerate(AXES[: self.dims])}
        return pa.table({"id": self.ids, **axes, "sampled": self.in_sample})

    def to_dict(self) -> dict[str, Any]:
        """The figures."""
        names = ("method", "dims", "rows", "sampled", "placed", "left_out", "explained", "trustworthiness")
        return {name: getattr(self, name) for name in names}

    def grids(self) -> list[Grid]:
        """The figures."""
        figures = {name: value for name, value in self.to_dict().items() if value is not None}
        shown = {
            name: ", ".join(map(number, value)) if isinstance(value, tuple) else value
            for name, value in figures.items()
        }
        return [
            Grid(
                ("figure", "value"),
                [(name, value if isinstance(value, str) else number(value)) for name, value in shown.items()],
            )
        ]

    def remarks(self) -> list[str]:
        """The rows behind the projection."""
        notes = []
        if self.placed:
            notes.append(
                f"{self.method} of a sample of {self.sampled:,}; {self.placed:,} rows placed by their neighbours"
            )
        if self.left_out:
            notes.append(f"{self.left_out:,} rows have no place: not finite, or all zero")
        return notes


def project(
    vectors: VectorsLike,
    *,
    method: str = "pca",
    dims: int = 2,
    sample: int = 5_000,
    seed: int = 42,
    column: str | None = None,
    threads: int | None = None,
) -> Points:
    """Place vectors in two or three dimensions, to be looked at; a picture is never a metric.

    ``pca`` places all rows by their exact principal components.  ``pacmap`` (Wang and others 2021) and ``umap``
    (McInnes and others 2018; n_neighbors 15, min_dist 0.1), of the extra ``project``, keep neighbours by cosine
    together.  They are computed from ``sample`` rows, drawn evenly by the ``seed``; every other row is placed at the
    mean of the places of its 5 nearest rows of the sample, weighted by 1 / their cosine distance.  ``explained`` is the
    share of the variance that each dimension of ``pca`` holds.  ``trustworthiness`` (Venna and Kaski 2001, 15
    neighbours by cosine, 1 is best) is that of the sample, by any method; NaN for 30 rows or fewer.

    ``vectors`` is what ``geometry`` takes; the rows of tables in files are called by their ``id``, others by their
    numbers.  The same input and seed give the same points for any number of threads.

    Parameters:

    - ``vectors``: An array, table, column or file of vectors.
    - ``method``: Method of a projection: pca, pacmap or umap; the last two are extras.
    - ``dims``: Dimensions of a projection: 2 or 3.
    - ``sample``: Rows that pacmap and umap are fitted on; the others are placed by their neighbours.
    - ``seed``: Random seed.
    - ``column``: The column of vectors; by default the only one.
    - ``threads``: Number of threads, from 1 to 1,024; by default one for each core available to this process, of
      profile one.

    >>> found = project([[0.0, 0.0], [2.0, 2.0], [4.0, 4.0]])
    >>> found.points[:, 0].round(4).tolist(), [round(share, 6) for share in found.explained]
    ([-2.8284, 0.0, 2.8284], [1.0, 0.0])

    Raises ``OptionError`` for an unknown method and for ``dims`` other than 2 and 3, ``MissingExtraError`` where the
    package of a method is not installed, ``InputError`` where no row can be placed, and for fewer than ten by
    ``pacmap`` or ``umap``, ``ColumnError`` for rows of different lengths.
    """
    method, dims = argument("method", method, Choice(*METHODS)), argument("dims", dims, Choice(2, 3))
    sample, seed = argument("sample", sample, Whole(10, 1_000_000)), argument("seed", seed, Seed)
    workers = cores(threads)
    check_installed(method)
    matrix, ids = vectors_and_ids(vectors, column)
    units, valid = _units(matrix)
    usable = np.flatnonzero(valid)
    if not len(usable):
        raise InputError(f"none of the {matrix.rows} rows is a vector that can be placed")
    rng = np.random.default_rng(seed)
    drawn = usable if len(usable) <= sample else np.sort(rng.choice(usable, sample, replace=False))
    points, explained = np.full((matrix.rows, dims), np.nan), None
    in_sample = np.zeros(matrix.rows, np.bool_)
    in_sample[drawn] = True
    if method == "pca":
        projection = pca(matrix, dims, threads=workers)
        points, explained = projection.points, tuple(projection.explained.tolist())
        placed = 0
    else:
        points[drawn] = layout(method, units[drawn], dims, NEIGHBOURS, seed, workers)
        others = np.flatnonzero(valid & ~in_sample)
        points[others] = beside(units[drawn], points[drawn], units[others], workers)
        placed = len(others)
    trusted = trustworthiness(units[drawn], points[drawn], NEIGHBOURS, workers)
    left_out = int(np.isnan(points[:, 0]).sum())
    return Points(method, dims, matrix.rows, len(drawn), placed, left_out, explained, trusted, points, in_sample, ids)


def beside(sample: npt.NDArray[np.float32], places: Floats, rows: npt.NDArray[np.float32], threads: int) -> Floats:
    """The positions of rows from those of their nearest sampled rows; all rows are unit vectors."""
    if not len(rows):
        return np.zeros((0, places.shape[1]))
    near = nearest(sample, rows, k=min(PLACED_BY, len(sample)), method="exact", threads=threads)
    weights = 1.0 / np.maximum(near.distances.astype(np.float64), 1e-12)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("ij,ijd->id", weights, places[near.ids])


def _units(matrix: Vectors) -> tuple[npt.NDArray[np.float32], Flags]:
    """The rows scaled to length 1 in float32, and which rows have a direction."""
    rows = matrix.all().astype(np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    valid = np.isfinite(norms) & (norms > 0)
    units = np.zeros(rows.shape, np.float32)
    np.divide(rows, norms[:, None], out=units, where=valid[:, None], casting="same_kind")
    return units, valid
