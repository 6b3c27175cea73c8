"""Inner products of the word counts of pairs of texts."""

from __future__ import annotations

import numpy as np

from fastmetrics.arrays import Flags, Ids, Ints
from fastmetrics.kernels._jit import kernel


@kernel
def pair_products(a: Ids, a_starts: Ints, a_stops: Ints, b: Ids, b_starts: Ints, b_stops: Ints, keep: Flags) -> Ints:
    """Per pair, in five rows: the inner product of the counts of the kept words, and the sums of the squares of those
    of a in both texts, of a in a alone, of b in both, of b in b alone."""
    sums = np.zeros((5, len(a_starts)), np.int64)
    in_a, in_b = np.zeros(len(keep), np.int64), np.zeros(len(keep), np.int64)
    for row in range(len(a_starts)):
        for k in range(a_starts[row], a_stops[row]):
            in_a[a[k]] += keep[a[k]]
        for k in range(b_starts[row], b_stops[row]):
            in_b[b[k]] += keep[b[k]]
        for k in range(a_starts[row], a_stops[row]):
            x, y = in_a[a[k]], in_b[a[k]]
            shared = np.int64(y > 0)
            sums[0, row] += x * y
            sums[1, row] += x * x * shared
            sums[2, row] += x * x * (1 - shared)
            sums[3, row] += y * y * np.int64(x > 0)
            in_a[a[k]] = 0
            in_b[a[k]] *= np.int64(x == 0)
        for k in range(b_starts[row], b_stops[row]):
            y = in_b[b[k]]
            sums[4, row] += y * y
            in_b[b[k]] = 0
    return sums
