"""Neighbour-preserving projections by optional packages: PaCMAP and UMAP."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from fastmetrics.base.errors import InputError, MissingExtraError
from fastmetrics.vectors.centred_vectors import Floats
from fastmetrics.vectors.search.neighbors import nearest
from fastmetrics.vectors.vector_arrays import one_blas_thread

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
