"""Trustworthiness of a projection: are its neighbours neighbours in the original space?  (Venna and Kaski 2001)"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fastmetrics.base.threads import cores, ordered
from fastmetrics.vectors.centred_vectors import Floats
from fastmetrics.vectors.vector_arrays import one_blas_thread

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
