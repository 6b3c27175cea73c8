"""Nearest earlier row: each block of questions, in order of time, is compared with all rows stored before."""

from __future__ import annotations

import numpy as np

from fastmetrics.core.arrays import Flags, Floats, Ints
from fastmetrics.core.batch_sizes import SIZES
from fastmetrics.core.threads import ordered
from fastmetrics.usage.question_vectors import Units
from fastmetrics.vectors.arrays import one_blas_thread


def nearest_earlier(units: Units, times: Ints, stored: Flags, threads: int) -> tuple[Floats, Ints]:
    """The largest cosine of each row to a stored row with an earlier time, and that row; ties go to the first.

    The rows are sorted by time.  NaN and −1 if no row was stored before.
    """
    stored_rows = np.flatnonzero(stored)
    before = np.searchsorted(times[stored_rows], times, side="left")
    size = SIZES.question_block_rows  # the same for any number of threads, so that these change no bit

    def block(start: int) -> tuple[Floats, Ints]:
        return _nearest(units[start : start + size], before[start : start + size], units, stored_rows)

    with one_blas_thread():
        blocks = list(ordered(block, range(0, len(units), size), threads))
    nothing = np.zeros(0), np.zeros(0, np.int64)
    cosines, rows = (np.concatenate(parts) for parts in zip(nothing, *blocks, strict=True))
    return cosines, rows


def _nearest(queries: Units, before: Ints, units: Units, stored_rows: Ints) -> tuple[Floats, Ints]:
    best = np.full(len(queries), -np.inf, np.float32)
    rows = np.full(len(queries), -1)
    every = np.arange(len(queries))
    size = SIZES.question_tile_rows
    for start in range(0, int(before.max(initial=0)), size):
        tile = stored_rows[start : start + size]
        products = queries @ units[tile].T
        late = start + np.arange(len(tile)) >= before[:, None] if before.min() < start + len(tile) else None
        if late is not None:
            products[late] = -np.inf
        place = products.argmax(axis=1)
        greatest = products[every, place]
        better = greatest > best
        best[better], rows[better] = greatest[better], tile[place[better]]
    cosines = np.full(len(queries), np.nan)
    some = np.flatnonzero(rows >= 0)
    pairs = queries[some].astype(np.float64), units[rows[some]].astype(np.float64)
    cosines[some] = np.clip(np.einsum("ij,ij->i", *pairs), -1.0, 1.0)
    return cosines, rows
