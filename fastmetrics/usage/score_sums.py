"""Exact sums of scores by key as integers, independent of parts and their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.core.arrays import Floats, Ints, floats_of_arrow
from fastmetrics.errors import InputError

_SCALE = 2.0**30
_LARGEST = 2.0**32
_HALF = 1 << 31


def score_column(rows: pa.RecordBatch, name: str, first: int) -> Floats:
    """A column of scores, NaN if missing; raises ``InputError`` for a score that is too large to be summed."""
    values = floats_of_arrow(rows.column(name), name)
    wrong = np.flatnonzero(np.abs(values) > _LARGEST)
    if wrong.size:
        row = int(wrong[0])
        raise InputError(f"column {name!r}, row {first + row}: {values[row]:g} is not a score; expected at most ±2**32")
    return values


def sum_names(name: str) -> tuple[str, str, str]:
    """The three columns of a tally that hold the sum of a score: its number, and its high and low part."""
    return f"{name} n", f"{name} high", f"{name} low"


def summed(name: str, codes: Ints, values: Floats, keys: int) -> dict[str, Any]:
    """The sums of a part: ``values[i]``, if it is a number, belongs to the key ``codes[i]``.

    A score is rounded to the nearest multiple of 2⁻³⁰, so means of scores are accurate to about 10⁻⁹.
    """
    present = ~np.isnan(values)
    codes, whole = codes[present], np.rint(values[present] * _SCALE).astype(np.int64)
    # sums of fewer than 2**21 numbers below 2**32 are exact in float64
    parts = (np.ones(len(codes)), whole // _HALF, whole % _HALF)
    sums = (np.bincount(codes, part, keys) for part in parts)
    return dict(zip(sum_names(name), sums, strict=True))


def mean_of(table: pa.Table, name: str) -> Floats:
    """The mean score of each key of a tally, NaN without scores."""
    n, high, low = (np.asarray(table[column]) for column in sum_names(name))
    total = (high * float(_HALF) + low) / _SCALE
    return np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)
