"""Sums of randomly drawn subsets of a fixed size, for the randomisation test of two independent samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import leaf
from fastmetrics.kernels.stats.draws import GOLDEN, mix, stream


@leaf
def split_sums(values: NDArray[np.int64], size: int, seed: np.uint64, first: int, out: NDArray[np.int64]) -> None:
    """Σ of ``size`` of the values (n,), drawn without replacement, for the resamples from number ``first`` on.

    Selection sampling (Knuth 1969, algorithm S): a value is drawn with the probability that the number still needed
    has among the values still left, so that each subset is equally likely.
    """
    n = values.shape[0]
    for place in range(out.shape[0]):
        state = stream(seed, first + place)
        needed, total = size, np.int64(0)
        for row in range(n):
            if needed == 0:
                break
            state += GOLDEN
            # 32 bits of a draw, as a whole number below the number of values left
            if (((mix(state) >> np.uint64(32)) * np.uint64(n - row)) >> np.uint64(32)) < np.uint64(needed):
                total += values[row]
                needed -= 1
        out[place] = total
