"""Confidence intervals of means, of rows or of clusters, of percentiles and of shares."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.notes import Note
from fastmetrics.base.threads import cores, ordered
from fastmetrics.kernels.resampling import resampled_clusters, resampled_sums
from fastmetrics.stats.estimates import UNDEFINED, Bounds, Estimate, Interval, Sample, Spread
from fastmetrics.stats.sums import CUT, exact_mean

# The bootstrap interval of a mean, over rows or clusters.


_RESAMPLES_AT_ONCE = 256
_ALONE = 1 << 22
"""Up to this number of cells times resamples, one thread is faster than several."""


def bootstrap_interval(
    sample: Sample, confidence: float, resamples: int, seed: int, threads: int | None
) -> tuple[float, float]:
    """The percentile bootstrap interval of the mean; NaN for fewer than 2 rows or clusters."""
    if len(sample.units) < 2:
        return math.nan, math.nan
    sums, rows = _resampled(sample.units, sample.sizes, resamples, seed, threads)
    means = sums / (sample.scale * rows)
    rounding = sample.mean - float(sample.units.sum() / (sample.scale * sample.n))
    low, high = (np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2]) + rounding).tolist()
    return low, high


def _resampled(
    units: Ints, sizes: Ints | None, resamples: int, seed: int, threads: int | None
) -> tuple[Ints, Ints | int]:
    """The sums of the rows or clusters drawn, and the numbers of rows drawn."""
    if sizes is None:
        return drawn(partial(resampled_sums, units), len(units), resamples, seed, threads), len(units)
    rows = np.empty(resamples, np.int64)

    def draw(key: np.uint64, first: int, out: Ints) -> None:
        resampled_clusters(units, sizes, key, first, out, rows[first : first + len(out)])

    return drawn(draw, len(sizes), resamples, seed, threads), rows


def drawn(
    fill: Callable[[np.uint64, int, Any], None], cells: int, resamples: int, seed: int, threads: int | None
) -> Ints:
    """One integer for each resample of these cells, computed by several threads if there are many."""
    out = np.empty(resamples, np.int64)
    if cells * resamples <= _ALONE:
        fill(np.uint64(seed), 0, out)
        return out
    size = max(1, min(_RESAMPLES_AT_ONCE, -(-resamples // cores(threads))))

    def part(first: int) -> None:
        fill(np.uint64(seed), first, out[first : first + size])

    deque(ordered(part, range(0, resamples, size), cores(threads)), maxlen=0)
    return out


# The confidence interval of a mean: of scores or of differences of paired scores, of rows or of clusters.
#
# The default kind depends on the data; docs/studies/levels.md shows how often it contains the truth:
#
# - ``skew_t``: Student's t with a longer tail on the side to which the values are skewed
# - ``exact``: for flags, scores of 0 and 1 alone whose declared bounds are these, Clopper and Pearson 1934
# - ``bounded``: for differences of scores of 0 and 1, and if few values differ, from the bounds of the values, where
#   that is not wider than t with as many degrees of freedom as values differ
# - ``worst_case``: the same if all values agree


INTERVALS = ("auto", "t", "percentile")
"""The kinds of intervals; ``auto`` lets the data decide."""

LEAST_ROWS, LEAST_CLUSTERS = 20, 12
"""Below these numbers, intervals of means have a note."""
FEWER = 5
"""Below this number, none does."""
_FEW_RESAMPLED = 100
_FEW_UNBOUNDED, _FEW_OPEN_ENDED, _FEW_SKEWED, _SKEWED = 100, 300, 1000, 0.4
"""Rows that show the rare large values of unbounded, of open-ended and of open-ended skewed values, and what is skewed:
time-outs of 0.5 % are in all but 1 % of the samples of 1,000."""
_FEW_UNLIKE, _FEWEST_UNLIKE = 30, 6
_LONG_TAIL, _LONG_TAIL_UNBOUNDED, _LONG_TAIL_BOUNDED, _LONG_TAIL_OF_FEW = 0.1, 0.15, 0.2, 0.35
_FEW_NEAR_BOUND, _FAR, _FAR_OF_CHANGE = 100, 0.7, 1.2
"""Of how many standard errors times n a bound is so far that unseen values near it would move the mean too much; from
100 rows on, which show any kind of row that is not very rare, only if the rows that there are have a long tail."""
_WIDER = 1.2
"""Of how many widths of Student's t a safe interval is worth a remark."""
_ARGUMENTS, _STEP = np.exp(np.linspace(-20.0, 16.0, 401)), 0.09
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
    """The interval of a mean, by the kind that the data allow or by one of ``INTERVALS``.

    >>> import numpy as np
    >>> found = mean_interval(Sample.of(np.array([0.1, 0.4, 0.2, 0.9, 0.3, 0.2])))
    >>> found.kind, round(found.low, 3), round(found.high, 3)
    ('skew_t', 0.048, 1.349)
    >>> found = mean_interval(Sample.of(np.array([1.0, 1.0, 1.0, 1.0, 0.0]), None, (0.0, 1.0)))
    >>> found.kind, round(found.low, 3), round(found.high, 3)
    ('exact', 0.284, 0.995)
    """
    count = len(sample.units)
    if kind == "auto" and sample.sizes is None and count and sample.kind == "flags":
        return exact_interval(int(sample.values.sum()), count, confidence)
    if count < 2:
        few = Note("no_spread", least=2, what="rows" if sample.sizes is None else "clusters")
        return Interval(math.nan, math.nan, "none", few if count else None)
    if sample.agree or (kind == "auto" and sample.kind == "flag differences" and sample.sizes is None):
        return _from_bounds(sample, confidence)
    if kind == "auto" and sample.bounds is not None and sample.kind != "pseudo-values" and few_differ(sample):
        return _of_few(sample, confidence)
    if kind in ("auto", "t"):
        interval = spread_interval(sample.mean, sample.spread, confidence, kind)
    else:
        low, high = bootstrap_interval(sample, confidence, resamples, seed, threads)
        interval = Interval(low, high, kind)
    low, high = (-math.inf, math.inf) if sample.bounds is None else sample.bounds
    note = level_note(interval.kind, sample.spread.freedom, len(sample.units), clustered=sample.sizes is not None)
    note = shape_note(sample) if note is None else note
    return replace(interval, low=max(interval.low, low), high=min(interval.high, high), note=note)


def _of_few(sample: Sample, confidence: float) -> Interval:
    """The interval of rows of which few differ from the most frequent value: on each side the shorter of two.

    One allows for values that no row has, up to the bounds; the other is t with the degrees of freedom of the rows that
    differ, if these are not too few.
    """
    bounded, differing = _from_bounds(sample, confidence), sample.unlike
    if differing < _FEWEST_UNLIKE or sample.sizes is not None:
        return bounded
    own = spread_interval(sample.mean, sample.spread, confidence, freedom=min(sample.n, differing) - 1)
    if own.low <= bounded.low and own.high >= bounded.high:
        return bounded
    is_skewed = abs(own.skew) > _LONG_TAIL_OF_FEW
    note = Note("few_unlike", least=_FEW_UNLIKE) if is_skewed else None
    return replace(own, low=max(own.low, bounded.low), high=min(own.high, bounded.high), note=note)


def few_differ(sample: Sample) -> bool:
    """Whether so few rows differ from the most frequent value that the spread says little."""
    return sample.unlike < min(_FEW_UNLIKE, sample.n / 2)


def shape_note(sample: Sample) -> str | None:
    """Why the interval of enough rows or clusters may not hold its level: by the kind of values, then by their shape.

    Of amounts of one sign without bounds, such as latencies, a sample of few lacks the rare large ones: its own tail
    cannot tell, and more rows are needed where most of the values are skewed, as latencies are without time-outs.
    """
    what, count, skew = "rows" if sample.sizes is None else "clusters", len(sample.units), abs(sample.spread.skew)
    if sample.bounds is None and sample.kind != "pseudo-values":
        least = _FEW_UNBOUNDED
        if sample.kind == "open-ended":
            away = math.copysign(sample.spread.skew, sample.spread.skew * sample.mean) * math.sqrt(count)
            least = _FEW_SKEWED if away > _SKEWED else _FEW_OPEN_ENDED
        if count < least:
            return Note("unbounded", least=least, what=what)
        if skew > _LONG_TAIL_UNBOUNDED:
            return Note("long_tailed", what=what)
    if few_differ(sample) and (sample.bounds is None or skew > _LONG_TAIL_OF_FEW or sample.kind == "pseudo-values"):
        return Note("few_unlike", least=_FEW_UNLIKE)
    if sample.bounds is not None and sample.kind != "pseudo-values":
        far = max(sample.mean - sample.bounds[0], sample.bounds[1] - sample.mean)
        reach = _FAR_OF_CHANGE if sample.kind == "differences" else _FAR
        if far > reach * count * sample.spread.error and (count < _FEW_NEAR_BOUND or skew > _LONG_TAIL_BOUNDED):
            return Note("near_bound", what=what)
    return None


def exact_interval(hits: int, n: int, confidence: float) -> Interval:
    """The interval of a share that holds at least its level for every true share (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return Interval(low, high, "exact")


def _from_bounds(sample: Sample, confidence: float) -> Interval:
    """The interval whose bounds allow for values that no row has, up to the bounds of the scores (Gaffke 2005).

    The upper bound is a quantile of Σ wᵢ·xᵢ with random weights w, uniform over all that sum to 1, of the values x and
    of one more that is as large as possible; the lower bound has one that is as small as possible.  For scores of 0 and
    1 it is the exact interval.  If all n values equal v, another value has a share of at most 1 − (α/2)^(1/n).
    """
    if sample.bounds is None:
        is_rounded = sample.error > 0 and bool((sample.values != sample.values[0]).any())
        return Interval(math.nan, math.nan, "none", Note("rounded" if is_rounded else "no_bounds"))
    if sample.agree:
        hidden = unseen(confidence, len(sample.units))
        low, high = (sample.mean + hidden * (bound - sample.mean) for bound in sample.bounds)
        return Interval(low, high, "worst_case", Note("all_agree"))
    totals, sizes, counts = sample.groups
    tail, (least, most) = (1 - confidence) / 2, sample.bounds
    low = -_weighted_quantile(-totals, sizes, counts, -least, tail)
    high = _weighted_quantile(totals, sizes, counts, most, tail)
    plain = spread_interval(sample.mean, sample.spread, confidence, "t")
    is_wider = high - low > _WIDER * (plain.high - plain.low)
    return Interval(low, high, "bounded", Note("few_differ") if is_wider else None)


def _weighted_quantile(totals: Floats, sizes: Floats, counts: Ints, most: float, tail: float) -> float:
    """The quantile 1 − ``tail`` of Σ wᵢ·totalᵢ / Σ wᵢ·sizeᵢ, with one more unit of mean size and the value ``most``."""
    from scipy.optimize import brentq

    size = float(counts @ sizes) / float(counts.sum())
    totals, sizes, counts = np.append(totals, most * size), np.append(sizes, size), np.append(counts, 1)
    values = totals / sizes
    low, high = float(values.min()), float(values.max())
    if not high > low:
        return high
    beyond = partial(_share_beyond, totals, sizes, counts, tail)
    margin, middle = 1e-12 * (high - low), float(counts @ totals / (counts @ sizes))
    error = math.sqrt(float(counts @ (totals - middle * sizes) ** 2)) / float(counts @ sizes)
    nearer = max(low + margin, middle - error), min(high - margin, middle + 4 * error)
    for start, end in (nearer, (low + margin, high - margin)):
        with suppress(ValueError):  # both ends are on the same side
            return float(brentq(beyond, start, end, xtol=1e-9 * (high - low), rtol=1e-12))
    return high if beyond(high - margin) >= 0 else low


def _share_beyond(totals: Floats, sizes: Floats, counts: Ints, tail: float, value: float) -> float:
    """P(Σ wᵢ·(totalᵢ − value·sizeᵢ) > 0) − ``tail``, where ``counts`` of the weights have the same total and size.

    Weights in proportion to exponential variables: the sum is one of gamma variables, whose distribution follows from
    its characteristic function (Imhof 1961), here by the trapezoidal rule over the logarithm of the argument.
    """
    parts = totals - value * sizes
    scaled = parts[:, None] * (_ARGUMENTS / math.sqrt(float(counts @ parts**2)))
    angle = counts @ np.arctan(scaled)
    damping = counts @ np.log1p(scaled * scaled) / 2
    return 0.5 + float((np.sin(angle) * np.exp(-damping)).sum()) * _STEP / math.pi - tail


def unseen(confidence: float, count: int) -> float:
    """The share of cases of a kind that may exist though none of ``count`` independent ones is of this kind."""
    return -math.expm1(math.log((1 - confidence) / 2) / count)


def spread_interval(
    value: float, spread: Spread, confidence: float = 0.95, kind: str = "auto", freedom: float | None = None
) -> Interval:
    """Student's t, by default with a longer tail on the side to which the residuals are skewed.

    Hall 1992 corrects t for skewness: t + a·t² + a²·t³/3 + a/2 has quantiles close to those of Student's t, where a is
    a third of the skewness divided by √n.  Only the longer of both tails is used on each side: with few values, the
    estimated skewness may be wrong.  The weight of the skewness is less where the values are flat, like uniform ones.
    Fewer than 5 values say nothing about skewness.
    """
    from scipy.special import stdtrit

    freedom = spread.freedom if freedom is None else freedom
    quantile, count = float(stdtrit(freedom, (1 + confidence) / 2)), spread.freedom + 1
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
    least = _FEW_RESAMPLED if kind in ("t", "percentile") else LEAST_CLUSTERS if clustered else LEAST_ROWS
    if count < FEWER:
        return Note("too_few", least=FEWER, what=what)
    if freedom + 1 >= least:
        return None
    if not clustered or count < least:
        return Note("few", least=least, what=what)
    return Note("uneven_clusters", least=least)


# The mean of the middle of the values, and percentiles, which rare large values do not move.


def trimmed_mean(values: Floats, confidence: float = 0.95, clusters: Ints | None = None) -> Estimate:
    """The mean of the middle 80 % of the values with its interval (Tukey and McLaughlin 1963).

    The standard error is that of the mean of the values of which a tenth at each end is moved to the nearest other
    value, divided by 0.8.  NaN without values.

    >>> found = trimmed_mean(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1000.0]))
    >>> found.value, round(found.low, 2), round(found.high, 2)
    (5.5, 2.96, 8.04)
    """
    n, cut = len(values), int(CUT * len(values))
    if not n:
        return UNDEFINED
    in_order = np.sort(values)
    middle = in_order[cut : n - cut]
    held = Sample.of(np.clip(values, middle[0], middle[-1]), clusters)
    what = "rows" if held.sizes is None else "clusters"
    if not held.spread.error > 0:
        why = Note("no_spread", least=2, what=what) if len(held.units) < 2 else Note("no_bounds")
        return Estimate(exact_mean(middle), math.nan, math.nan, "none", why)
    freedom, count = held.spread.freedom * (len(middle) - 1) / (n - 1), len(held.units)
    spread = held.spread.corrected(n / len(middle), freedom)
    interval = spread_interval(exact_mean(middle), spread, confidence, "t")
    note = level_note("skew_t", freedom, count, clustered=clusters is not None)
    return Estimate.of(exact_mean(middle), replace(interval, note=note))


def percentile_interval(
    values: Floats,
    share: float,
    confidence: float = 0.95,
    clusters: Ints | None = None,
    bounds: Bounds | None = None,
) -> Interval:
    """The interval of the percentile below which lies this ``share`` of the values, between two order statistics.

    The number of values below the true percentile is binomial, so that values at two ranks contain it at the level for
    every distribution.  A side on which no value can be a bound has that of the metric, or is infinite.  Of rows in
    ``clusters``, the ranks are those of as many independent rows as tell the share of values up to the percentile as
    precisely (Korn and Graubard 1998).  NaN without values.

    >>> found = percentile_interval(np.arange(1.0, 101.0), 0.5)
    >>> found.low, found.high, found.note
    (40.0, 61.0, None)
    >>> percentile_interval(np.arange(1.0, 21.0), 0.95).high
    inf

    Source: Conover 1999, Practical Nonparametric Statistics, 3.2.
    """
    from scipy.special import bdtr

    n = len(values)
    if not n:
        return Interval(math.nan, math.nan, "none")
    ordered_values, independent = np.sort(values), n
    below = values <= np.quantile(values, share)
    flags = Sample.of(below.astype(np.float64), clusters, (0.0, 1.0))
    if clusters is not None:
        if len(flags.units) < 2:
            return Interval(math.nan, math.nan, "none", Note("no_spread", least=2, what="clusters"))
        independent = _independent_rows(flags, share, confidence)
    tail = (1 - confidence) / 2
    up_to = np.asarray(bdtr(np.arange(independent, dtype=np.float64), independent, share))
    # of ``independent`` values in order, those at ranks ``lower`` and ``upper`` (from 1) are the bounds
    lower, upper = int((up_to <= tail).sum()), int((up_to < 1 - tail).sum()) + 1
    level = (up_to[upper - 1] if upper <= independent else 1.0) - (up_to[lower - 1] if lower else 0.0)
    lower, upper = math.floor(lower * n / independent), math.ceil(upper * n / independent)
    least, most = (-math.inf, math.inf) if bounds is None else bounds
    low = float(ordered_values[lower - 1]) if lower else least
    high = float(ordered_values[upper - 1]) if upper <= n else most
    note = None if clusters is None else level_note("order", flags.spread.freedom, len(flags.units), clustered=True)
    if not lower or upper > n:
        note = Note("open_side")
    elif note is None and (level > 1 - 0.6 * (1 - confidence) or _tied(values, low, high) > (upper - lower) / 4):
        note = Note("tied_percentile")
    return Interval(low, high, "order", note)


def _independent_rows(flags: Sample, share: float, confidence: float) -> int:
    """The number of independent rows that tell a share as precisely as these clusters do; at most that of the rows."""
    from scipy.special import stdtrit

    spread, own = flags.spread, share * (1 - share)
    quantile = stdtrit(spread.freedom, (1 + confidence) / 2) / NormalDist().inv_cdf((1 + confidence) / 2)
    variance = (spread.error * float(quantile)) ** 2
    return flags.n if variance * flags.n <= own else max(1, int(own / variance))


def _tied(values: Floats, low: float, high: float) -> int:
    """The number of values beside one that equal a bound, at the bound where there are more."""
    return max(int((values == bound).sum()) for bound in (low, high)) - 1


# Shares of rows and F1, with exact confidence intervals.


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
