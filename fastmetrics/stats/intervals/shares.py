"""Shares of rows and F1, with exact confidence intervals."""

from __future__ import annotations

from fastmetrics.stats.intervals.estimates import UNDEFINED, Estimate
from fastmetrics.stats.intervals.mean_interval import exact_interval


def share(hits: int, n: int, confidence: float = 0.95) -> Estimate:
    """The share ``hits / n`` with its exact interval (Clopper and Pearson 1934); all NaN if n is 0.

    >>> found = share(8, 10)
    >>> found.value, round(found.low, 4), round(found.high, 4)
    (0.8, 0.4439, 0.9748)
    """
    return Estimate.of(hits / n, exact_interval(hits, n, confidence)) if n else UNDEFINED


def f1_share(hits: int, misses: int, confidence: float = 0.95) -> Estimate:
    """F1 = 2·TP/(2·TP + FP + FN) with its exact interval; ``misses`` is FP + FN; all NaN without both.

    J = TP/(TP + FP + FN) is the share of hits among the rows that are not true negatives, and F1 = 2·J/(1 + J).
    """
    if not hits + misses:
        return UNDEFINED
    interval = exact_interval(hits, hits + misses, confidence)
    low, high = (2 * bound / (1 + bound) for bound in (interval.low, interval.high))
    return Estimate(2 * hits / (2 * hits + misses), low, high, interval.kind, interval.note)
