"""Sums of numbers with randomly flipped signs, for Fisher's randomisation test.

One draw holds the signs of 64 rows as bits.  The sums of all subsets of 8 rows are tabulated once, so that a byte of
signs costs one look-up per resample (method of Four Russians).  Sums of integers are exact in any order.
``values[i]`` is the number of row i; ``tables[b, s]``, of 8 × 256 entries, is the sum of subset s of the eight rows of
byte b.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.stats.draws import GOLDEN, mix, stream


@leaf
def subset_sums(values: NDArray[np.int64], start: int, tables: NDArray[np.int64]) -> int:
    """Write the sums of all subsets of each 8 of the 64 rows from ``start`` on to ``tables``; return the total."""
    total = 0
    for byte in range(8):
        tables[byte, 0] = 0
        for bit in range(8):
            row = start + 8 * byte + bit
            value = values[row] if row < values.shape[0] else np.int64(0)
            width = 1 << bit
            for subset in range(width):
                tables[byte, width + subset] = tables[byte, subset] + value
        total += tables[byte, 255]
    return total


@leaf
def looked_up(tables: NDArray[np.int64], bits: np.uint64) -> int:
    """The sum of the rows with a set bit."""
    total = np.int64(0)
    for byte in range(8):
        total += tables[byte, (bits >> np.uint64(8 * byte)) & np.uint64(255)]
    return total


@kernel
def flipped_sums(values: NDArray[np.int64], seed: np.uint64, first: int, out: NDArray[np.int64]) -> None:
    """Σ ±value for the resamples from number ``first`` on; each sign is a bit of a draw of its resample."""
    tables = np.empty((8, 256), np.int64)
    states = np.empty(out.shape[0], np.uint64)
    for place in range(out.shape[0]):
        states[place] = stream(seed, first + place)
        out[place] = 0
    for start in range(0, values.shape[0], 64):
        total = subset_sums(values, start, tables)
        for place in range(out.shape[0]):
            states[place] += GOLDEN
            out[place] += total - 2 * looked_up(tables, mix(states[place]))
