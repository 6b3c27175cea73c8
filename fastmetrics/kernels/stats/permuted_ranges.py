"""The range of the systems' sums after a random permutation of each row's values (randomised Tukey HSD)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.stats.draws import GOLDEN, mix, stream


@leaf
def shuffle(places: NDArray[np.int64], state: np.uint64) -> np.uint64:
    """Shuffle ``places`` (Fisher and Yates) with 16 bits per swap; return the state after the draws."""
    bits, left = np.uint64(0), 0
    for last in range(places.shape[0] - 1, 0, -1):
        if left == 0:
            state += GOLDEN
            bits, left = mix(state), 4
        other = np.int64(((bits & np.uint64(0xFFFF)) * np.uint64(last + 1)) >> np.uint64(16))
        bits >>= np.uint64(16)
        left -= 1
        places[last], places[other] = places[other], places[last]
    return state


@kernel
def permuted_ranges(values: NDArray[np.int64], seed: np.uint64, first: int, out: NDArray[np.int64]) -> None:
    """The maximum minus the minimum of the systems' sums, for the resamples from number ``first`` on.

    ``values`` has a row for each question and a column for each system.
    """
    systems = values.shape[1]
    places, sums = np.arange(systems), np.empty(systems, np.int64)
    for place in range(out.shape[0]):
        state = stream(seed, first + place)
        sums[:] = 0
        for row in range(values.shape[0]):
            state = shuffle(places, state)
            for system in range(systems):
                sums[places[system]] += values[row, system]
        out[place] = sums.max() - sums.min()
