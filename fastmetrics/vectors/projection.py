"""Projections of vectors to two or three dimensions by principal components, PaCMAP or UMAP, and their
trustworthiness.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Flags
from fastmetrics.base.columns import as_array
from fastmetrics.base.display import HIDDEN, Grid, Shown, lines_of, plain
from fastmetrics.base.drawing import PALETTE, canvas, label
from fastmetrics.base.errors import Argument, InputError, MissingExtraError, OptionError
from fastmetrics.base.notes import Note, said
from fastmetrics.base.options import Choice, Seed, Whole, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores, ordered
from fastmetrics.vectors.geometry_values import Moments
from fastmetrics.vectors.neighbors import nearest
from fastmetrics.vectors.pair_scan import BLOCK, Floats, Space, survey
from fastmetrics.vectors.vector_arrays import Vectors, VectorsLike, one_blas_thread, vectors_and_ids

# Principal components: projection of vectors to the two or three dimensions of largest variance.


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
        space = Space(matrix, overview, "euclidean")
        scatter = Moments(space, workers).scatter
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

        def part(start: int) -> None:
            rows = space.rows[start : start + BLOCK]
            points[rows] = (space.fine(space.block(rows), np.ones(len(rows))) @ axes) / space.factor

        list(ordered(part, range(0, len(space), BLOCK), workers))
    return Projection(points, explained, components)


def _signed(directions: npt.NDArray[np.float64]) -> Floats:
    """Directions with signs such that the entry with the largest magnitude is positive."""
    size = np.abs(directions)
    largest = np.argmax(size >= size.max(axis=1, keepdims=True) * (1 - 1e-9), axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return np.asarray(directions * np.where(signs == 0, 1.0, signs)[:, None])


# Neighbour-preserving projections by optional packages: PaCMAP and UMAP.


LEAST_ROWS = 10
MIN_DIST = 0.1
Units = npt.NDArray[np.float32]


def layout(method: str, units: Units, dims: int, neighbours: int, seed: int, threads: int) -> Floats:
    """The coordinates of unit rows by ``pacmap`` or ``umap``, the same for any number of threads.

    Raises ``MissingExtraError`` if the package is not installed, ``InputError`` for fewer than ten rows.
    """
    if len(units) < LEAST_ROWS:
        raise InputError(f"{method} needs {LEAST_ROWS} vectors or more, got {len(units)}; pca takes any number")
    with _quietly(), one_blas_thread():
        if method == "umap":
            return _umap(units, dims, neighbours, seed)
        return _pacmap(units, dims, neighbours, seed, threads)


def check_installed(method: str) -> None:
    """Raise ``MissingExtraError`` if the package of a method is not installed; called before reading."""
    with _quietly():
        try:
            if method == "pacmap":
                import pacmap  # noqa: F401
            if method == "umap":
                import umap  # noqa: F401
        except ImportError as error:
            raise MissingExtraError.of("umap-learn" if method == "umap" else "pacmap", "project") from error


def _pacmap(units: Units, dims: int, neighbours: int, seed: int, threads: int) -> Floats:
    """PaCMAP with exact neighbours, because its own graph search differs between runs."""
    import numba
    import pacmap

    n = len(units)
    k = max(1, min(neighbours, (2 * n - 1) // 7))  # k neighbours, k/2 mid-near, 2k further pairs < n
    ids = nearest(units, k=k, method="exact", threads=threads).ids
    pairs = np.column_stack([np.repeat(np.arange(n), k), ids.ravel()]).astype(np.int32)
    model = pacmap.PaCMAP(n_components=dims, n_neighbors=k, pair_neighbors=pairs, random_state=seed, apply_pca=False)
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        return np.asarray(model.fit_transform(units, init="pca"), np.float64)
    finally:
        numba.set_num_threads(before)


def _umap(units: Units, dims: int, neighbours: int, seed: int) -> Floats:
    import umap

    near = min(neighbours, len(units) - 1)
    model = umap.UMAP(
        n_components=dims, n_neighbors=near, min_dist=MIN_DIST, metric="cosine", random_state=seed, n_jobs=1
    )
    return np.asarray(model.fit_transform(units), np.float64)


@contextmanager
def _quietly() -> Iterator[None]:
    """Suppress warnings of these packages about versions and seeds, which users cannot act on."""
    logger = logging.getLogger("pacmap")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


# Trustworthiness of a projection: are its neighbours neighbours in the original space?  (Venna and Kaski 2001)


_BLOCK = 256


def trustworthiness(
    units: npt.NDArray[np.floating], points: Floats, neighbours: int = 15, threads: int | None = None
) -> float:
    """T = 1 − 2 / (n·k·(2n − 3k − 1)) · Σᵢ Σⱼ max(0, r(i, j) − k), over the k nearest points j of each point i.

    r(i, j) is the place of row j among the rows nearest to row i by cosine, from 1; of rows at one distance each has
    the first place of these.  ``units`` are rows of length 1, ``points`` their places.  1 where the picture brings only
    near rows together; NaN for 2k rows or fewer.  Threads change no bit.

    >>> angles = np.arange(8) / 8
    >>> trustworthiness(np.column_stack([np.cos(angles), np.sin(angles)]), angles[:, None], 2)
    1.0
    """
    n, k = len(units), neighbours
    if n <= 2 * k:
        return math.nan
    rows = units.astype(np.float64)

    def penalty(start: int) -> int:
        stop = min(start + _BLOCK, n)
        own = np.arange(stop - start), np.arange(start, stop)
        shown = ((points[start:stop, None, :] - points[None]) ** 2).sum(axis=2)
        shown[own] = np.inf
        near = np.argpartition(shown, k, axis=1)[:, :k]
        distances = 1.0 - rows[start:stop] @ rows.T
        distances[own] = np.inf
        limits = np.take_along_axis(distances, near, axis=1)
        ranks = [1 + np.count_nonzero(distances < limit[:, None], axis=1) for limit in limits.T]
        return int(np.maximum(np.array(ranks) - k, 0).sum())

    with one_blas_thread():
        total = sum(ordered(penalty, range(0, n, _BLOCK), cores(threads)))
    return 1.0 - total * (2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0)))


# ``fm.vectors.project``: projection of vectors to 2-D or 3-D points by principal components, PaCMAP or UMAP.


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
    """Other rows with a position: by their nearest neighbours among the sampled rows, or by ``pca`` as all rows."""
    left_out: int
    """Rows without a position: non-finite rows and, but by ``pca``, zero vectors, whose cosine is undefined."""
    explained: tuple[float, ...] | None
    trustworthiness: float
    points: Floats = field(repr=False, metadata=HIDDEN)
    """rows × dims; NaN for a row left out."""
    in_sample: Flags = field(repr=False, metadata=HIDDEN)
    ids: pa.Array = field(repr=False, metadata=HIDDEN)

    def to_arrow(self) -> pa.Table:
        """One row per vector: ``id``, ``x``, ``y`` (and ``z``), null without a position, and ``sampled``."""
        axes = {name: pa.array(self.points[:, at], from_pandas=True) for at, name in enumerate(AXES[: self.dims])}
        return pa.table({"id": self.ids, **axes, "sampled": self.in_sample})

    def plot(self, figure: Any = None, *, color: Any = None) -> Any:
        """The axes of a chart: the points, coloured by the column ``color``, numbers or categories, one a row.

        ``figure`` is as in all charts.  Raises ``OptionError`` for colours
        that are not one a row.
        """
        if color is not None and len(color) != self.rows:
            raise OptionError(Argument("color"), f": expected one a row, {self.rows:,}, got {len(color):,}")
        figure = canvas(figure, 6.0, 5.0)
        axes = figure.add_subplot(projection="3d" if self.dims == len(AXES) else None)
        has_point = np.isfinite(self.points[:, 0])
        size = float(np.clip(2e4 / max(1, has_point.sum()), 0.5, 12))
        for name, rows, style in _groups(self, color):
            shown = has_point & rows
            points = self.points[shown].T
            marks = axes.scatter(*points, s=size, linewidths=0, rasterized=True, label=name, **style(shown))
            if name is None and color is not None:
                figure.colorbar(marks, ax=axes)
        if color is not None and axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, markerscale=3)
        quality = f"trustworthiness {self.trustworthiness:.3f}"
        if self.explained is not None:
            quality = f"{sum(self.explained):.1%} of the variance, {quality}"
        axes.set_title(f"{self.method} of {self.sampled:,} of {self.rows:,} rows; {quality}", fontsize=9)
        return axes

    def grids(self) -> list[Grid]:
        """The figures."""
        figures = [item for item in plain(self).items() if item[1] is not None]
        return [lines_of(figures, "figure=0", "value=1")]

    def remarks(self) -> list[str]:
        """The rows behind the projection."""
        pca = self.method == "pca"
        return said(
            self.placed and pca and Note("trustworthiness", n=self.sampled),
            self.placed and not pca and Note("placed", method=self.method, n=self.sampled, placed=self.placed),
            self.left_out and Note("no_place" if pca else "no_place_or_zero", n=self.left_out),
        )


_CATEGORIES = 10
_Style = Callable[[Any], Mapping[str, Any]]


def _groups(points: Points, color: Any) -> list[tuple[str | None, Any, _Style]]:
    """The rows of each colour, with the name of their category, and their drawing style."""
    every = np.ones(points.rows, np.bool_)
    if color is None:
        return [(None, every, lambda _: {"color": PALETTE[0]})]
    values = as_array(color, "color").to_pylist()
    known_values = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
    if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in known_values):
        shades = np.array([math.nan if value is None else float(value) for value in known_values])
        return [(None, every, lambda shown: {"c": shades[shown], "cmap": "viridis"})]
    names = np.array([label("none" if value is None else value) for value in known_values])
    kinds, counts = np.unique(names, return_counts=True)
    first = [str(kinds[at]) for at in np.argsort(-counts, kind="stable")[: _CATEGORIES - 1]]
    groups: list[tuple[str | None, Any, _Style]] = [
        (kind, names == kind, _of_color(PALETTE[at])) for at, kind in enumerate(first)
    ]
    others = ~np.isin(names, first)
    return [*groups, *([(f"{len(kinds) - len(first):,} others", others, _of_color("#CCCCCC"))] if others.any() else [])]


def _of_color(color: str) -> _Style:
    return lambda _: {"color": color}


def project(
    vectors: Annotated[VectorsLike, Help("An array, table, column or file of vectors.")],
    *,
    method: Annotated[str, Help("Method of a projection: pca, pacmap or umap; the last two are extras.")] = "pca",
    dims: Annotated[int, Help("Dimensions of a projection: 2 or 3.")] = 2,
    sample: Annotated[
        int, Help("Rows that pacmap and umap are fitted on; the others are placed by their neighbours.")
    ] = 5_000,
    seed: shared.Seed = 42,
    column: shared.Column = None,
    threads: shared.Threads = None,
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
        none = f"none of the {matrix.rows} rows is a vector that can be placed"
        raise InputError(f"{none}: expected finite numbers that are not all zero")
    rng = np.random.default_rng(seed)
    drawn = usable if len(usable) <= sample else np.sort(rng.choice(usable, sample, replace=False))
    points, explained = np.full((matrix.rows, dims), np.nan), None
    in_sample = np.zeros(matrix.rows, np.bool_)
    in_sample[drawn] = True
    if method == "pca":
        projection = pca(matrix, dims, threads=workers)
        points, explained = projection.points, tuple(projection.explained.tolist())
    else:
        points[drawn] = layout(method, units[drawn], dims, NEIGHBOURS, seed, workers)
        others = np.flatnonzero(valid & ~in_sample)
        points[others] = beside(units[drawn], points[drawn], units[others], workers)
    trusted = trustworthiness(units[drawn], points[drawn], NEIGHBOURS, workers)
    left_out = int(np.isnan(points[:, 0]).sum())
    placed = matrix.rows - len(drawn) - left_out
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
