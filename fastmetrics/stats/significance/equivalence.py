"""Tests of equivalence and of non-inferiority: a difference within a margin, or not worse by more than a margin."""

from __future__ import annotations

import math

from fastmetrics.stats.intervals.estimated_values import Spread


def equivalence_p(delta: float, spread: Spread, margin: float) -> float:
    """The p of two one-sided t tests (TOST, Schuirmann 1987) that |Δ| is at least ``margin``.

    The greater of both p; equivalent at level α if it is at most α, that is if the interval at confidence 1 − 2α lies
    within ±``margin``.  NaN without a standard error.

    >>> round(equivalence_p(0.0, Spread(0.01, 50.0, 0.0, 3.0, 51), 0.02), 4)
    0.0255
    """
    return max(not_worse_p(delta, spread, margin), not_worse_p(-delta, spread, margin))


def not_worse_p(gain: float, spread: Spread, margin: float) -> float:
    """The p of the one-sided t test that a gain is at most −``margin``: not worse by more than the margin if small.

    NaN without a standard error.
    """
    from scipy.special import stdtr

    if not spread.error > 0:
        return math.nan
    return float(stdtr(spread.freedom, -(gain + margin) / spread.error))
