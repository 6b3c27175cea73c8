"""The capital of bets against a mean of values in [0, 1], and the bets (Waudby-Smith and Ramdas 2024)."""

from __future__ import annotations

import math

from fastmetrics.base.arrays import Floats
from fastmetrics.kernels.jit import leaf


@leaf
def bets(values: Floats, log_level: float, out: Floats) -> None:
    """Bet before each value: √(2·``log_level`` / (σ²·t·ln(1 + t))), with σ² from the values before.

    ``values`` and ``out`` have shape (n,).  The mean and the variance start from 1/2 and 1/4, as if one value had been
    seen, so that the first bet is defined.
    """
    total, squares = 0.5, 0.25
    for t in range(len(values)):
        variance = squares / (t + 1)
        out[t] = math.sqrt(2.0 * log_level / (variance * (t + 1) * math.log(t + 2.0)))
        total += values[t]
        mean = total / (t + 2)
        squares += (values[t] - mean) * (values[t] - mean)


@leaf
def greatest_capital(values: Floats, stakes: Floats, mean: float, most: float) -> float:
    """The greatest logarithm over time of the capital won by betting that the values' mean is above ``mean``.

    Σ ln(1 + λ·(x − mean)) with λ = min(stake, ``most``/mean).  ``values`` and ``stakes`` have shape (n,); a capital of
    1, before the first value, counts.
    """
    limit = most / mean if mean > 0.0 else math.inf
    capital, greatest = 0.0, 0.0
    for t in range(len(values)):
        capital += math.log1p(min(stakes[t], limit) * (values[t] - mean))
        greatest = max(greatest, capital)
    return greatest
