"""Intervals and p values of a mean that stay valid however often one looks, for scores with bounds."""

from __future__ import annotations

import math

import numpy as np

from fastmetrics.base.arrays import Floats
from fastmetrics.base.errors import Argument, InputError
from fastmetrics.base.options import Real, argument
from fastmetrics.kernels.resampling import bets, greatest_capital
from fastmetrics.stats.intervals.estimates import Estimate
from fastmetrics.stats.sums.exact_sums import exact_sum

_SHARE = 0.5
"""The share of the capital that a bet may lose at most."""
_STEPS = 60
"""Bisections of the range of the mean: to the last bit of float64."""


def confidence_sequence(values: Floats, bounds: tuple[float, float], confidence: float = 0.95) -> Estimate:
    """The mean of values that arrive one after another, with an interval that is valid at every moment.

    ``values`` (n,) are in the order of arrival; NaN is no value.  They lie within ``bounds`` and have a common mean μ
    given the values before.  If the interval is computed again after each value, all these intervals hold μ with
    probability ``confidence``, so one may look at any time and stop on what one sees.  An interval that is valid at one
    n only, such as Student's, fails more and more often with the number of looks.

    The interval has the means m against which no bettor, starting with a capital of 1 and betting on values above m or
    below m, ever reached 2/α: the hedged capital process with predictable plug-in bets, intersected over time.  Its
    bounds depend on the order of the values.  The whole range for no values.

    >>> import numpy as np
    >>> estimate = confidence_sequence(np.tile([0.9, 0.8], 100), (0, 1))
    >>> round(estimate.value, 3), round(estimate.low, 3), round(estimate.high, 3)
    (0.85, 0.819, 0.863)

    Raises ``InputError`` for values outside the bounds and ``OptionError`` for bounds that are not finite.

    Source: Waudby-Smith and Ramdas 2024, Estimating means of bounded random variables by betting, theorem 3.
    """
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    low, high = bounds
    shares = _shares(values, low, high)
    if not len(shares):
        return Estimate(math.nan, float(low), float(high))
    alpha = 1 - confidence
    least, most = _least_mean(shares, alpha), 1.0 - _least_mean(1.0 - shares, alpha)
    mean = exact_sum(values[~np.isnan(values)]) / len(shares)
    span = high - low
    return Estimate(mean, max(low, low + span * least), min(high, low + span * most))


def sequential_p(values: Floats, bounds: tuple[float, float], mean: float, confidence: float = 0.95) -> float:
    """The two-sided p of the hypothesis that the values' mean is ``mean``, valid at every moment.

    2 / the greatest capital that betting against ``mean`` ever reached, at most 1; at any stopping time, p ≤ α has a
    probability of at most α under the hypothesis.  The bets are those of the ``confidence_sequence`` at this
    confidence, which excludes ``mean`` if p is at most 1 − ``confidence``.  1 for no values.

    >>> import numpy as np
    >>> sequential_p(np.tile([0.9, 0.8], 100), (0, 1), 0.5) < 1e-10
    True

    Raises the errors of ``confidence_sequence``.
    """
    low, high = bounds
    shares, share = _shares(values, low, high), (mean - low) / (high - low)
    if not len(shares):
        return 1.0
    alpha = 1 - confidence
    greatest = max(_capital(shares, share, alpha), _capital(1.0 - shares, 1.0 - share, alpha))
    return min(1.0, 2.0 * math.exp(-greatest))


def _shares(values: Floats, low: float, high: float) -> Floats:
    """The values as shares of the range, in [0, 1]."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        limits = Argument("bounds", (low, high))
        raise InputError("a confidence sequence needs scores with a least and a greatest value, got ", limits)
    rows = np.flatnonzero(~np.isnan(values))
    outside = (values[rows] < low) | (values[rows] > high)
    if outside.any():
        row = int(rows[outside.argmax()])
        raise InputError(f"row {row}: expected a score from {low:g} to {high:g}, got {values[row]:g}")
    return np.ascontiguousarray(np.clip((values[rows] - low) / (high - low), 0.0, 1.0))


def _capital(shares: Floats, mean: float, alpha: float) -> float:
    stakes = np.empty(len(shares))
    bets(shares, math.log(2 / alpha), stakes)
    return float(greatest_capital(shares, stakes, mean, _SHARE))


def _least_mean(shares: Floats, alpha: float) -> float:
    """The greatest mean below which every mean is refuted by bets on larger values; 0 if none is.

    The capital falls with the mean, so the boundary is found by bisection; the result is refuted, or 0.
    """
    stakes = np.empty(len(shares))
    bets(shares, math.log(2 / alpha), stakes)
    enough = math.log(2 / alpha)
    refuted, possible = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (refuted + possible) / 2
        if greatest_capital(shares, stakes, middle, _SHARE) >= enough:
            refuted = middle
        else:
            possible = middle
    return refuted
