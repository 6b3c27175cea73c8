"""Random numbers that depend on a seed and a place alone, so that no order of work can show in them."""

from __future__ import annotations

import numpy as np

from fastmetrics.kernels.jit import leaf

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""What SplitMix64 steps by."""


@leaf
def mix(state: np.uint64) -> np.uint64:
    """The 64 bits that SplitMix64 makes of a state (Steele, Lea and Flood 2014)."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@leaf
def stream(seed: np.uint64, resample: int) -> np.uint64:
    """The state in which the draws of a resample begin; draw i is ``mix(stream + i·GOLDEN)``."""
    return mix(mix(seed + GOLDEN) ^ (np.uint64(resample) * np.uint64(0xD1342543DE82EF95)))
