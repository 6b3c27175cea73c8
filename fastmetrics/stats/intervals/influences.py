"""How much each row adds to a correlation or an AUC, and the interval that follows from it.

The influence ψ of a row is the derivative of the figure with respect to the row's weight, times the number of rows; it
adds up to 0.  Its spread gives the standard error of the figure (the delta method), as the residuals do for a mean.
"""

from __future__ import annotations

import math

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.stats.intervals.estimates import Interval, Sample
from fastmetrics.stats.intervals.mean_interval import level_note, spread_interval

_LEAST = 4
"""With fewer rows or clusters, a correlation has no interval."""


def figure_interval(
    value: float, influence: Floats, clusters: Ints | None, confidence: float, *, fitted: int = 0
) -> Interval | None:
    """The interval of a figure between −1 and 1, from the influence of each row; None if it has no spread.

    Student's t, widened for skewness as for a mean, on Fisher's scale artanh(value).  ``fitted`` is the number of
    further degrees of freedom that the figure uses up.
    """
    sample = Sample.of(influence, clusters)
    count = len(sample.units)
    if count < _LEAST:
        what = "rows" if clusters is None else "clusters"
        return Interval(math.nan, math.nan, "none", f"no interval: fewer than {_LEAST} {what}")
    slope = 1 - value * value
    if slope < 1e-12 or not sample.spread.error > 1e-9:
        return None
    spread = sample.spread.times(1 / slope)
    free = spread.freedom - fitted
    if fitted and free > 0:
        ratio = math.sqrt((spread.freedom + 1) * spread.freedom) / free
        spread = spread.corrected(ratio, free)
    interval = spread_interval(math.atanh(value), spread, confidence)
    note = level_note("skew_t", free, count, clustered=clusters is not None)
    return Interval(math.tanh(interval.low), math.tanh(interval.high), "skew_t", note)


def worst_case(value: float, bound: float) -> Interval:
    """The interval of a perfect figure, from it to a bound."""
    bound = max(bound, -1.0) if value > 0 else min(-bound, 1.0)
    low, high = sorted((value, bound))
    return Interval(low, high, "worst_case", "rather too wide than too narrow: the figure is perfect in these rows")


def pearson_influence(x: Floats, y: Floats, r: float) -> Floats:
    """ψ = a·b − r·(a² + b²)/2 of the standardised values a and b."""
    a, b = (_centred(values) / math.sqrt(float(np.mean(_centred(values) ** 2))) for values in (x, y))
    influence: Floats = a * b - r * (a * a + b * b) / 2
    return influence


def spearman_influence(x: Floats, y: Floats, rho: float) -> Floats:
    """ψ of Pearson's r of the ranks, including the change of the other rows' ranks.

    With u and v the ranks divided by n and centred, a row moves the covariance by u·v + mean(v of rows above it in x) +
    mean(u of rows above it in y), and the variances likewise; rows tied with it count half.
    """
    n = len(x)
    above_x, above_y = _Above(x), _Above(y)
    u, v = above_x.ranks, above_y.ranks
    variance_u, variance_v = float(np.mean(u * u)), float(np.mean(v * v))
    both = _centred(u * v + above_x.sums(v) / n + above_y.sums(u) / n)
    own_u = _centred(u * u + 2 * above_x.sums(u) / n)
    own_v = _centred(v * v + 2 * above_y.sums(v) / n)
    influence: Floats = both / math.sqrt(variance_u * variance_v) - rho / 2 * (own_u / variance_u + own_v / variance_v)
    return influence


def auc_influence(x: Floats, good: Flags, auc: float) -> Floats:
    """ψ of 2·AUC − 1: the share of pairs that a row wins, minus AUC, divided by the share of its class (DeLong)."""
    above = _Above(x)
    n, positives = len(x), int(good.sum())
    lower = (n - positives) - above.sums((~good).astype(np.float64))
    higher = above.sums(good.astype(np.float64))
    wins = np.where(good, lower / (n - positives), higher / positives)
    influence: Floats = 2 * (wins - auc) * np.where(good, n / positives, n / (n - positives))
    return influence


class _Above:
    """The rows above each row in the order of a column; tied rows count half."""

    def __init__(self, values: Floats) -> None:
        self._order = np.argsort(values, kind="stable")
        ordered = values[self._order]
        self._first = np.searchsorted(ordered, values, side="left")
        self._last = np.searchsorted(ordered, values, side="right")
        self.ranks: Floats = _centred((self._first + self._last) / (2 * len(values)))

    def sums(self, weights: Floats) -> Floats:
        """The sum of the weights of the rows above each row."""
        total = np.append(0.0, np.cumsum(weights[self._order]))
        sums: Floats = total[-1] - (total[self._first] + total[self._last]) / 2
        return sums


def _centred(values: Floats) -> Floats:
    return values - values.mean()
