"""Exact statistics: sums without rounding errors, and concordant pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import kernel

# Exact sums: float64 significands accumulated per exponent, without rounding errors.


ROWS = 1 << 24  # maximum values per bin without int64 overflow, since each adds less than 2**38

N_NAN, N_INFINITE, LOWEST, HIGHEST = range(4)


@kernel
def accumulate(bits: NDArray[np.int64], bins: NDArray[np.int64], seen: NDArray[np.int64]) -> None:
    """Add float64 values, given by their bits, to ``bins`` (2048 × 8) and ``seen`` (4: two counts, two extremes).

    A significand is split into 18-bit digits c, b, a.  ``bins[e]``, for the exponent e, sums the digits with
    their sign (0–2) and the digits of the square (3–7).  The extremes of the finite values are stored as
    integers in the order of the floats.
    """
    for i in range(bits.shape[0]):
        value = bits[i]
        exponent = (value >> 52) & 2047
        significand = value & 0xFFFFFFFFFFFFF
        # The largest exponent marks NaN, or infinity where the significand is 0.
        if exponent == 2047:
            seen[0 if significand != 0 else 1] += 1
            continue
        # As integers, negative floats have their order reversed: turning all bits but the sign puts it right.
        key = value if value >= 0 else value ^ 0x7FFFFFFFFFFFFFFF
        seen[2] = min(seen[2], key)
        seen[3] = max(seen[3], key)
        # All but subnormal numbers have a leading 1 that is not stored.
        if exponent > 0:
            significand |= 1 << 52
        # 18 + 18 + 17 bits: a product of two digits has at most 36.
        c, b, a = significand & 0x3FFFF, (significand >> 18) & 0x3FFFF, significand >> 36
        sign = 1 if value >= 0 else -1
        bins[exponent, 0] += sign * c
        bins[exponent, 1] += sign * b
        bins[exponent, 2] += sign * a
        # (a·2³⁶ + b·2¹⁸ + c)², by powers of 2¹⁸.
        bins[exponent, 3] += c * c
        bins[exponent, 4] += 2 * c * b
        bins[exponent, 5] += 2 * c * a + b * b
        bins[exponent, 6] += 2 * b * a
        bins[exponent, 7] += a * a


# Concordant and discordant pairs, counted for each row with a Fenwick tree: O(n log n).


@kernel
def below(tree: NDArray[np.int64], level: int) -> int:
    """Number of inserted rows with a lower level; ``tree`` has an entry more than there are levels."""
    count = 0
    while level > 0:
        count += tree[level]
        # Entry k of the tree counts as many levels up to k as the lowest bit of k says; without the bit, the levels
        # before.
        level -= level & -level
    return count


@kernel
def insert(tree: NDArray[np.int64], level: int) -> None:
    """Insert one row with the level ``level``."""
    place = level + 1
    while place < tree.shape[0]:
        tree[place] += 1
        place += place & -place


@kernel
def concordance(
    runs: NDArray[np.int64], levels: NDArray[np.int32], lower: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    """For each row, the number of concordant rows minus the number of discordant rows.

    Rows are in ``runs`` of ascending score; row i has the label of level ``levels[i]``; ``lower[k]`` rows have a label
    below level k.
    """
    n = levels.shape[0]
    tree = np.zeros(lower.shape[0], np.int64)
    for run in range(runs.shape[0] - 1):
        start, stop = runs[run], runs[run + 1]
        # Rows of a lower score: concordant with a lower label, discordant with a higher one.
        for row in range(start, stop):
            level = levels[row]
            out[row] = below(tree, level) - (start - below(tree, level + 1))
        for row in range(start, stop):
            insert(tree, levels[row])
        # Rows of a higher score are those that the tree, which now has this run, lacks.
        for row in range(start, stop):
            level = levels[row]
            behind, ahead = below(tree, level), stop - below(tree, level + 1)
            out[row] += (n - lower[level + 1] - ahead) - (lower[level] - behind)
