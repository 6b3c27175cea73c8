"""Intervals of agreement, such as Cohen's κ, from the influence of each unit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastmetrics.base.arrays import Floats
from fastmetrics.stats.intervals.estimates import Interval
from fastmetrics.stats.intervals.influences import figure_interval, worst_case
from fastmetrics.stats.intervals.mean_interval import unseen

NO_INTERVAL = Interval(math.nan, math.nan, "none")


def kappa_interval(first: NDArray[Any], second: NDArray[Any], power: int, confidence: float) -> Interval:
    """The interval of kappa, whose disagreements weigh |x − y|^``power``; ``power`` 0 is the unweighted kappa.

    With O and E the observed and the expected disagreement of κ = 1 − O/E, a unit of disagreement w and expected
    disagreement g (of its first rating with all second ones, plus of its second with all first ones) has the influence
    ψ = (O·(g − 2E)/E − (w − O))/E.
    """
    n = len(first)
    if not n:
        return NO_INTERVAL
    apart = np.abs(first - second).astype(np.float64)
    weights = (apart > 0).astype(np.float64) if power == 0 else apart**power
    crossed = [_distances(values, other, power) for values, other in ((first, second), (second, first))]
    observed, expected = float(weights.mean()), float(crossed[0].mean())
    if not expected > 0:
        return NO_INTERVAL
    influence = (observed * (crossed[0] + crossed[1] - 2 * expected) / expected - (weights - observed)) / expected
    farthest = 1.0 if power == 0 else float(max(first.max(), second.max()) - min(first.min(), second.min())) ** power
    return agreement_interval(1 - observed / expected, influence, farthest / expected, confidence)


def _distances(values: NDArray[Any], others: NDArray[Any], power: int) -> Floats:
    """The mean distance of each value from the others."""
    if power == 2:
        distances: Floats = (values - others.mean()) ** 2 + others.var()
        return distances
    ordered = np.sort(others)
    below, upto = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    if power == 0:
        return np.asarray(1 - (upto - below) / len(others), np.float64)
    sums = np.append(0.0, np.cumsum(ordered))
    return np.asarray((values * (2 * upto - len(others)) + sums[-1] - 2 * sums[upto]) / len(others), np.float64)


def agreement_interval(value: float, influence: Floats, worst: float, confidence: float) -> Interval:
    """The interval of an agreement; ``worst`` is the greatest disagreement of a unit, divided by the expected one."""
    if value <= -1:
        return Interval(math.nan, math.nan, "none", "no interval: the agreement is −1 or less")
    interval = figure_interval(value, influence, None, confidence)
    if interval is not None:
        return interval
    if value < 1:
        return Interval(math.nan, math.nan, "none", "no interval: all units agree equally")
    return worst_case(value, 1 - unseen(confidence, len(influence)) * worst)
