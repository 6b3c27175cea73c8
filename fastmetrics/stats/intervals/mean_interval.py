"""The confidence interval of a mean: of scores or of differences of paired scores, of rows or of clusters.

The default kind depends on the data and holds its level by the simulation in docs/comparing.md:

- ``skew_t``: Student's t with a longer tail on the side to which the values are skewed
- ``exact``: for scores of 0 and 1, Clopper and Pearson 1934
- ``adjusted``: for differences of scores of 0 and 1, Bonett and Price 2012
- ``worst_case``: if all values agree, from the bounds of the values
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fastmetrics.stats.intervals.bootstrap_intervals import bootstrap_interval
from fastmetrics.stats.intervals.confidence_sequences import confidence_sequence
from fastmetrics.stats.intervals.estimates import Interval, Sample, Spread

INTERVALS = ("auto", "t", "percentile", "bca", "studentised")
"""The kinds of intervals for one look at the data; ``auto`` lets the data decide."""
SEQUENTIAL = "sequential"
"""The interval that holds at every look."""

NAMES: Mapping[str, str] = {
    "skew_t": "t widened for skewness",
    "exact": "exact for scores of 0 and 1",
    "adjusted": "adjusted for scores of 0 and 1",
    "worst_case": "the worst case of what was not seen",
    "t": "Student's t",
    "percentile": "percentile bootstrap",
    "bca": "BCa bootstrap",
    "studentised": "studentised bootstrap",
    "sequential": "valid at every look, by betting",
    "welch": "Welch's t",
    "normal": "normal approximation",
    "none": "none",
}
"""The kinds of intervals in words."""

LEAST_ROWS, LEAST_CLUSTERS = 20, 12
"""The numbers from which on intervals of means hold their level for most shapes of scores within bounds."""
FEWER = 5
"""Below this number, none does."""
_FEW_RESAMPLED = 100
_FEW_OF_A_KIND = 30
_FEW_DIFFERING = 20
_FEW_UNBOUNDED = 100
_FEW_UNLIKE = 30
_LONG_TAIL = 0.1
_WEIGHT, _FLAT, _NORMAL = 0.85, 1.0, 3.0


def mean_interval(
    sample: Sample,
    confidence: float = 0.95,
    kind: str = "auto",
    *,
    resamples: int = 2_000,
    seed: int = 0,
    threads: int | None = None,
) -> Interval:
    """The interval of a mean, by the kind that the data allow or by one of ``INTERVALS`` or ``SEQUENTIAL``.

    >>> import numpy as np
    >>> found = mean_interval(Sample.of(np.array([0.1, 0.4, 0.2, 0.9, 0.3, 0.2])))
    >>> found.kind, round(found.low, 3), round(found.high, 3)
    ('skew_t', 0.048, 1.349)
    >>> found = mean_interval(Sample.of(np.array([1.0, 1.0, 1.0, 1.0, 0.0])))
    >>> found.kind, round(found.low, 3), round(found.high, 3)
    ('exact', 0.284, 0.995)
    """
    count = len(sample.units)
    if kind == SEQUENTIAL:
        return _sequential(sample, confidence)
    if kind == "auto" and sample.sizes is None and count:
        if sample.kind == "flags":
            return exact_interval(int(sample.values.sum()), count, confidence)
        if sample.kind == "flag differences":
            return _adjusted(sample, confidence)
    if count < 2:
        few = f"no interval: fewer than 2 {'rows' if sample.sizes is None else 'clusters'}"
        return Interval(math.nan, math.nan, "none", few if count else None)
    if sample.agree:
        return _from_bounds(sample, confidence)
    if kind in ("auto", "t"):
        interval = spread_interval(sample.mean, sample.spread, confidence, kind)
    else:
        low, high = bootstrap_interval(sample, kind, confidence, resamples, seed, threads)
        interval = Interval(low, high, kind)
    low, high = (-math.inf, math.inf) if sample.bounds is None else sample.bounds
    note = level_note(interval.kind, sample.spread.freedom, len(sample.units), clustered=sample.sizes is not None)
    note = _shape_note(sample) if note is None else note
    return replace(interval, low=max(interval.low, low), high=min(interval.high, high), note=note)


def _shape_note(sample: Sample) -> str | None:
    """Why the interval of enough rows or clusters may not hold its level, by the shape of the values."""
    if sample.bounds is None and len(sample.units) < _FEW_UNBOUNDED:
        what = "rows" if sample.sizes is None else "clusters"
        return (
            f"approximate: fewer than {_FEW_UNBOUNDED} {what} of values without bounds, rare large ones may be missing"
        )
    unlike = int((sample.values != np.median(sample.values)).sum())
    if unlike < min(_FEW_UNLIKE, sample.n / 2):
        return f"approximate: fewer than {_FEW_UNLIKE} rows differ from the most frequent value"
    return None


def _sequential(sample: Sample, confidence: float) -> Interval:
    """The confidence sequence of the values in the order in which they arrived."""
    if sample.sizes is not None:
        return Interval(math.nan, math.nan, "none", "no interval: a sequential interval needs independent rows")
    if sample.bounds is None:
        return Interval(math.nan, math.nan, "none", "no interval: a sequential interval needs declared bounds")
    estimate = confidence_sequence(sample.values, sample.bounds, confidence)
    return Interval(estimate.low, estimate.high, SEQUENTIAL)


def exact_interval(hits: int, n: int, confidence: float) -> Interval:
    """The interval of a share that holds at least its level for every true share (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    few = min(hits, n - hits) < _FEW_OF_A_KIND
    return Interval(low, high, "exact", "rather too wide than too narrow: few rows of 0 or few of 1" if few else None)


def _adjusted(sample: Sample, confidence: float) -> Interval:
    """The adjusted Wald interval of Bonett and Price 2012, with a quantile of t: one more row of +1 and of −1."""
    from scipy.special import stdtrit

    n, rises, falls = sample.n, int((sample.values > 0).sum()), int((sample.values < 0).sum())
    if n < 2:
        return Interval(math.nan, math.nan, "none", "no interval: fewer than 2 rows")
    middle, share = (rises - falls) / (n + 2), (rises + falls + 2) / (n + 2)
    reach = float(stdtrit(n - 1, (1 + confidence) / 2)) * math.sqrt((share - middle**2) / (n + 2))
    few = n < LEAST_ROWS or rises + falls < _FEW_DIFFERING
    note = "rather too wide than too narrow: few rows differ" if few else None
    return Interval(max(middle - reach, -1.0), min(middle + reach, 1.0), "adjusted", note)


def _from_bounds(sample: Sample, confidence: float) -> Interval:
    """The interval if all n values equal v: another value was not seen, so its share is at most 1 − (α/2)^(1/n).

    For scores of 0 and 1 it equals the exact interval.
    """
    if sample.bounds is None:
        why = "no interval: all values agree, and the bounds of the metric are not declared"
        return Interval(math.nan, math.nan, "none", why)
    hidden = unseen(confidence, len(sample.units))
    low, high = (sample.mean + hidden * (bound - sample.mean) for bound in sample.bounds)
    return Interval(low, high, "worst_case", "rather too wide than too narrow: all values agree")


def unseen(confidence: float, count: int) -> float:
    """The share of cases of a kind that may exist though none of ``count`` independent ones is of this kind."""
    return -math.expm1(math.log((1 - confidence) / 2) / count)


def spread_interval(value: float, spread: Spread, confidence: float = 0.95, kind: str = "auto") -> Interval:
    """Student's t, by default with a longer tail on the side to which the residuals are skewed.

    Hall 1992 corrects t for skewness: t + a·t² + a²·t³/3 + a/2 has quantiles close to those of Student's t, where a is
    a third of the skewness divided by √n.  Only the longer of both tails is used on each side: with few values, the
    estimated skewness may be wrong.  The weight of the skewness is less where the values are flat, like uniform ones.
    Fewer than 5 values say nothing about skewness.
    """
    from scipy.special import stdtrit

    quantile, count = float(stdtrit(spread.freedom, (1 + confidence) / 2)), spread.freedom + 1
    if kind == "t" or spread.count < FEWER:
        reach = quantile * spread.error
        return Interval(value - reach, value + reach, "t", skew=spread.skew)
    flat = (spread.kurtosis * (count + 1) / (count - 1) - _FLAT) / _NORMAL
    few = max(count, FEWER)
    a = spread.skew / 3 * few / (few - 2) * min(max(flat, 0.0), _WEIGHT)
    below, above = max(quantile, _untransformed(quantile, a)), max(quantile, -_untransformed(-quantile, a))
    return Interval(value - below * spread.error, value + above * spread.error, "skew_t", skew=spread.skew)


def _untransformed(quantile: float, a: float) -> float:
    """The t for which t + a·t² + a²·t³/3 + a/2 equals the quantile."""
    shifted = quantile - a / 2
    return shifted - a * shifted**2 if abs(a) < 1e-6 else (math.cbrt(1 + 3 * a * shifted) - 1) / a


def has_long_tail(interval: Interval, high: bool) -> bool:
    """Whether the n values are few, below 100·skewness², for the bound on the side of their long tail.

    Such a bound may miss the mean more often than in half of the cases that the level leaves.
    """
    return (interval.skew if high else -interval.skew) > _LONG_TAIL


def level_note(kind: str, freedom: float, count: int, clustered: bool = False) -> str | None:
    """Why an interval of this kind may not hold its level, for these degrees of freedom and rows or clusters."""
    what = "clusters" if clustered else "rows"
    least = _FEW_RESAMPLED if kind in ("t", "percentile", "bca") else LEAST_CLUSTERS if clustered else LEAST_ROWS
    if count < FEWER:
        return f"unreliable: no kind of interval holds its level for fewer than {FEWER} {what}"
    if freedom + 1 >= least:
        return None
    if not clustered or count < least:
        return f"approximate: fewer than {least} {what}"
    return f"approximate: clusters so uneven that they count as fewer than {least}"
