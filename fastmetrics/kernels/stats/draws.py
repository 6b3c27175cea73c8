"""Random numbers that depend only on a seed and an index, so results are independent of the order of execution."""

from __future__ import annotations

import numpy as np

from fastmetrics.kernels.jit import leaf

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The increment of SplitMix64."""


@leaf
def mix(state: np.uint64) -> np.uint64:
    """SplitMix64's 64-bit output for a state (Steele, Lea and Flood 2014)."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@leaf
def stream(seed: np.uint64, resample: int) -> np.uint64:
    """The initial state of a resample's draws; draw i is ``mix(stream + i·GOLDEN)``."""
    return mix(mix(seed + GOLDEN) ^ (np.uint64(resample) * np.uint64(0xD1342543DE82EF95)))
