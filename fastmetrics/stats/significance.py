"""Tests of differences between systems, paired and unpaired, several at once, and the size of experiments.

**Comparing.** Differences are converted to integer multiples of 2⁻⁵⁶ times the sum of their absolute values. Sums are
then exact in any order, and equal sums compare as equal, which the p value relies on. Rows are sorted by id, and each
random draw is a function of seed, resample and position, so the number of threads and the order of rows cannot change
the result. Signs are looked up for eight rows at a time. The bootstrap first draws how many rows each block of 1,024
gets, then which rows, so that a block stays in the processor cache. The p values of one call and test are corrected in
three families: the main metric, other metrics over all rows, and segments. A study has the simulation.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from string import ascii_lowercase
from typing import Any, TypeAlias

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.errors import InputError
from fastmetrics.base.notes import Note, joined
from fastmetrics.kernels.resampling import flipped_sums, resampled_clusters, resampled_sums
from fastmetrics.stats.estimates import ROUNDING, Bounds, Interval, Sample, Spread, between, whole, without_noise
from fastmetrics.stats.mean_interval import LEAST_ROWS, drawn, few_differ, mean_interval, shape_note, spread_interval
from fastmetrics.stats.sums import exact_sum

# Packing several integer columns into 64-bit words, so that one sum of words gives the sums of several columns.


_BITS = 63


@dataclass(frozen=True)
class Packed:
    """``words[w]`` contains, for each row, the fields (w, first bit, number of bits).

    The number of bits is negative for a field of signed sums.  ``columns`` gives the field of each column: equal
    columns share one.
    """

    words: Ints
    fields: Sequence[tuple[int, int, int]]
    columns: Sequence[int]

    @classmethod
    def of(cls, counts: Ints, bounds: Ints, signed: bool = False) -> Packed:
        """The packed columns of ``counts``, whose sums are between 0, or −``bounds`` if ``signed``, and ``bounds``."""
        numbers: dict[bytes, int] = {}
        columns = [numbers.setdefault(column.tobytes(), len(numbers)) for column in np.ascontiguousarray(counts.T)]
        firsts = [columns.index(field) for field in range(len(numbers))]
        fields: list[tuple[int, int, int]] = []
        word, begins = 0, 0
        for first in firsts:
            bits = int(bounds[first]).bit_length() + signed
            if begins + bits > _BITS:
                word, begins = word + 1, 0
            fields.append((word, begins, -bits if signed else bits))
            begins += bits
        words = np.zeros((word + 1, len(counts)), np.int64)
        for first, (word, begins, _) in zip(firsts, fields, strict=True):
            words[word] += counts[:, first] << begins
        return cls(words, fields, columns)

    def unpacked(self, sums: Ints) -> Ints:
        """The sums of the columns, one row for each row of sums of the words.

        >>> counts = np.array([[1, -2, 3], [10, 20, 30]])
        >>> packed = Packed.of(counts, np.array([11, 22, 33]), signed=True)
        >>> packed.unpacked(packed.words.sum(axis=1, keepdims=True).T).tolist()
        [[11, 18, 33]]
        """
        totals = np.empty((len(sums), len(self.fields)), np.int64)
        words = sums.T.copy()
        for field, (word, _, bits) in enumerate(self.fields):
            spare = 64 - abs(bits)
            totals[:, field] = (words[word] << spare) >> spare if bits < 0 else words[word] & ((1 << bits) - 1)
            words[word] = (words[word] - totals[:, field]) >> abs(bits)
        return totals[:, self.columns]


# Paired tests for the mean difference between two systems, also for its equivalence.


TESTS = ("fisher", "t", "wilcoxon")
"""The tests for a pair of systems."""

_SKEWED, _SKEWED_OF_FEW = 0.15, 0.35
"""From this skewness, divided by the root of the number of rows, p of random signs is up to twice its level; where few
rows differ, chance alone makes the former."""
EXACT = 20
"""Up to this number of rows (or clusters), all sign patterns are enumerated."""


def effect_size(differences: Sample) -> float:
    """d_z, the mean of the differences divided by their standard deviation (ddof = 1); NaN if all of them are equal."""
    if differences.n < 2 or differences.constant:
        return math.nan
    exponent = math.frexp(float(np.abs(differences.values).max()))[1]
    mean = math.ldexp(differences.mean, -exponent)
    squares = exact_sum((np.ldexp(differences.values, -exponent) - mean) ** 2)
    return mean / math.sqrt(squares / (differences.n - 1))


def detectable(differences: Sample, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference that this many rows of this spread detect with probability ``power``.

    (t₁₋α/₂ + t_power)·s/√n, for a two-sided test at level ``alpha``; NaN for fewer than 2 rows or clusters, and if all
    differences are equal, so that their spread is unknown.
    """
    return detectable_of(differences.spread, alpha, power)


def detectable_of(spread: Spread, alpha: float, power: float = 0.8) -> float:
    """The same of a difference with this precision; NaN without one."""
    from scipy.special import stdtrit

    if not spread.error > 0:
        return math.nan
    return float((stdtrit(spread.freedom, 1 - alpha / 2) + stdtrit(spread.freedom, power)) * spread.error)


def p_value(test: str, differences: Sample, resamples: int, seed: int, threads: int | None) -> float:
    """The two-sided p of one of ``TESTS``; NaN without rows."""
    if differences.n == 0:
        return math.nan
    if test == "fisher":
        return randomisation_p(differences, resamples, seed, threads)
    return t_p(differences) if test == "t" else wilcoxon_p(differences)


def randomisation_p(differences: Sample, resamples: int, seed: int, threads: int | None) -> float:
    """Fisher's randomisation test: (1 + #{|Δ*| ≥ |Δ|})/(1 + N), where Δ* has random signs of the differences.

    All 2ⁿ sign patterns count instead for 20 rows or fewer, and for flags, whose sums are binomial (McNemar 1947).
    Clusters flip together.
    """
    units = differences.units
    if differences.kind == "flag differences" and differences.sizes is None:
        return _binomial_p(int((units > 0).sum()), int((units < 0).sum()))
    tolerance = len(units)  # each value was rounded by up to half a unit
    reached = abs(int(units.sum())) - tolerance
    if len(units) <= EXACT:
        first, second = (_signed_sums(half) for half in np.array_split(units, 2))
        second.sort()
        above = len(second) - np.searchsorted(second, reached - first)
        below = np.searchsorted(second, -reached - first, side="right")
        return 1.0 if reached <= 0 else int(above.sum() + below.sum()) / 2 ** len(units)
    totals = drawn(partial(flipped_sums, units), len(units), resamples, seed, threads)
    return (1 + int((np.abs(totals) >= reached).sum())) / (1 + resamples)


def least_p(test: str, units: int, resamples: int) -> float:
    """The smallest p that a test can give for so many rows or clusters; 0 if there is none."""
    if test in ("t", *UNPAIRED_TESTS):
        return 0.0
    return 2.0 ** max(1 - units, -1000) if units <= EXACT or test == "wilcoxon" else 1 / (resamples + 1)


def _signed_sums(units: Ints) -> Ints:
    """The sums of the units with every pattern of signs."""
    sums = np.zeros(1, np.int64)
    for unit in units:
        sums = np.concatenate([sums - unit, sums + unit])
    return sums


def t_p(differences: Sample) -> float:
    """The paired t-test; for clusters with the standard error CR2 and Satterthwaite's degrees of freedom.

    1 if all differences are 0, NaN if all have the same other value: their spread is unknown.
    """
    from scipy.special import stdtr

    spread = differences.spread
    if math.isnan(spread.error):
        return math.nan
    if differences.agree:
        return math.nan if differences.units.any() else 1.0
    return float(2 * stdtr(spread.freedom, -abs(differences.mean / spread.error)))


def _binomial_p(wins: int, losses: int) -> float:
    """The two-sided p that rows rise and fall with equal probability; 1 without any."""
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5))) if wins + losses else 1.0


_MOST_RANKED = 200
"""Up to this number of differences, sums of tied ranks are counted; beyond, the normal approximation is close."""


def wilcoxon_p(differences: Sample) -> float:
    """Wilcoxon's signed-rank test without zeros: SciPy's, or with ties over all signs; 1 if all differences are 0.

    Differences that are equal but for the rounding of the scores are tied: 0.3 − 0.2 and 0.2 − 0.1.
    """
    from scipy.stats import rankdata, wilcoxon

    values = differences.rounded[differences.rounded != 0]
    if not len(values):
        return 1.0
    doubled = np.rint(2 * rankdata(np.abs(values))).astype(np.int64)
    if len(values) > _MOST_RANKED or len(np.unique(doubled)) == len(values):
        return float(wilcoxon(values).pvalue)
    shares = np.zeros(int(doubled.sum()) + 1)  # of all signs, by the sum of the doubled ranks of the rises
    shares[0], reached = 1.0, 0
    for rank in doubled.tolist():
        shares[rank : reached + rank + 1] = (shares[rank : reached + rank + 1] + shares[: reached + 1]) / 2
        shares[:rank] /= 2
        reached += rank
    rises = int(doubled[values > 0].sum())
    return min(1.0, 2 * min(float(shares[: rises + 1].sum()), float(shares[rises:].sum())))


def p_note(test: str, differences: Sample) -> str | None:
    """Why p of one of ``TESTS`` may not hold its level: few and skewed differences, or rare ones that may be missing.

    Random signs and t suppose that rises and falls of a size are equally likely, which differences of scores of 0 and 1
    always are without a true difference.
    """
    if differences.kind == "flag differences" or len(differences.units) < 2:
        return None
    if not differences.units.any():  # p is 1: no row differs
        return None
    if abs(differences.spread.skew) > (_SKEWED_OF_FEW if few_differ(differences) else _SKEWED):
        return Note("skewed_differences")
    return shape_note(differences)


# Tests against any limit, which agree with the interval, since their p is found from it.


At: TypeAlias = Callable[[float], Interval]
"""The interval of a figure at a confidence."""

_LEAST_P = 1e-12


def one_sided_p(interval: At, limit: float, above: bool = True) -> float:
    """The smallest α at which the interval of confidence 1 − 2α lies above ``limit`` (or below it).

    So p is at most α exactly if the interval shows it.  1 if it does at no confidence, NaN without an interval.

    >>> rows = Sample.of(np.linspace(0, 1, 30))
    >>> round(one_sided_p(lambda confidence: mean_interval(rows, confidence), 0.4), 4)
    0.0408
    """
    from scipy.optimize import brentq

    def beyond(log_p: float) -> float:
        found = interval(1 - 2 * math.exp(log_p))
        return found.low - limit if above else limit - found.high

    most, least = beyond(math.log(0.5)), beyond(math.log(_LEAST_P))
    if math.isnan(most) or not most > 0:
        return math.nan if math.isnan(most) else 1.0
    if least >= 0:
        return _LEAST_P
    return math.exp(brentq(beyond, math.log(_LEAST_P), math.log(0.5), xtol=1e-8))


def interval_p(interval: At, limit: float = 0.0) -> float:
    """The two-sided p: the smallest α at which the interval of confidence 1 − α excludes ``limit``."""
    sides = [one_sided_p(interval, limit, above) for above in (True, False)]
    return min(2 * min(sides), 1.0)  # NaN stays NaN


def equivalence_p(interval: At, margin: float) -> float:
    """The p of two one-sided tests (Schuirmann 1987) that the figure is at least ``margin`` away from 0.

    The greater of both p: equivalent at level α if the interval at confidence 1 − 2α lies within ±``margin``.
    """
    return max(one_sided_p(interval, -margin), one_sided_p(interval, margin, above=False))


def not_worse_p(interval: At, margin: float, lower_is_better: bool = False) -> float:
    """The one-sided p that the figure, a change, is worse than none by ``margin`` or more."""
    return one_sided_p(interval, margin if lower_is_better else -margin, above=not lower_is_better)


# Resampling corpus metrics of two systems from the counts of each row, with the same draws as for paired scores.
#
# A corpus metric is a formula over sums of counts.  Resampling or swapping rows gives new sums and a new value;
# integer sums make it independent of the order of the work.


Formula: TypeAlias = Callable[[Ints], Floats]
"""The values for rows of sums, NaN if undefined."""

_AT_ONCE = 1 << 16
"""Number of sums passed to a formula at once."""
_ROUNDING = 1e-12
"""Differences that are equal but for rounding count as equally large."""


@dataclass(frozen=True)
class PairedCounts:
    """The counts of two systems, one row per question or per cluster; ``sizes`` are the rows of the clusters."""

    first: Ints
    second: Ints
    formula: Formula
    sizes: Ints | None = None

    @classmethod
    def of(cls, first: Ints, second: Ints, formula: Formula, clusters: Ints | None = None) -> PairedCounts:
        """From rows, with the cluster of each row, numbered in any way."""
        if clusters is None:
            return cls(first, second, formula)
        _, numbers = np.unique(clusters, return_inverse=True)
        sizes = np.bincount(numbers)
        added = np.zeros((2, len(sizes), first.shape[1]), np.int64)
        for sums, counts in zip(added, (first, second), strict=True):
            np.add.at(sums, numbers, counts)
        return cls(added[0], added[1], formula, sizes)

    @property
    def values(self) -> tuple[float, float]:
        """The values of both systems; NaN without rows."""
        if not len(self.first):
            return float("nan"), float("nan")
        a, b = self.formula(np.stack([self.first.sum(axis=0), self.second.sum(axis=0)])).tolist()
        return a, b

    def differences(self, first: Ints, second: Ints) -> Floats:
        """The second system's value minus the first's, for each row of sums."""
        pieces = range(0, len(first), _AT_ONCE)
        values = [self.formula(sums[at : at + _AT_ONCE]) for sums in (second, first) for at in pieces]
        both = np.concatenate(values) if values else np.zeros(0)
        return both[: len(first)] - both[len(first) :]


def swap_p(pair: PairedCounts, resamples: int, seed: int, threads: int | None) -> float:
    """The two-sided p of approximate randomisation: (1 + #{|Δ*| ≥ |Δ|})/(1 + N), Δ* with rows swapped at random.

    If there are no more than N patterns (2ⁿ⁻¹ for n rows, since the other half has the same |Δ*|), all are counted
    instead.  Clusters are swapped together.  An undefined Δ* counts as equally large, so it cannot make p smaller; NaN
    if Δ is undefined.
    """
    delta = abs(pair.values[1] - pair.values[0])
    if np.isnan(delta):
        return float("nan")
    apart = pair.second - pair.first
    packed = Packed.of(apart, np.abs(apart).sum(axis=0), signed=True)
    exact = 2 ** min(len(apart) - 1, 64) <= resamples
    if exact:
        sums = packed.words[:, :1].T
        for row in range(1, len(apart)):
            sums = np.concatenate([sums - packed.words[:, row], sums + packed.words[:, row]])
    else:
        draws = [drawn(partial(flipped_sums, word), len(word), resamples, seed, threads) for word in packed.words]
        sums = np.stack(draws, axis=1)
    reached = sum(_reached(pair, packed, sums[at : at + _AT_ONCE], delta) for at in range(0, len(sums), _AT_ONCE))
    return reached / len(sums) if exact else (1 + reached) / (1 + resamples)


def _reached(pair: PairedCounts, packed: Packed, flipped: Ints, delta: float) -> int:
    """The number of patterns with an equally large difference; ``flipped`` are signed sums of the rows' differences."""
    total, flips = (pair.first + pair.second).sum(axis=0), packed.unpacked(flipped)
    differences = np.abs(pair.differences((total - flips) // 2, (total + flips) // 2))
    return int((~(differences < delta * (1 - _ROUNDING))).sum())


def counts_interval(
    pair: PairedCounts,
    confidence: float,
    kind: str = "auto",
    *,
    bounds: Bounds | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    threads: int | None = None,
) -> Interval:
    """The interval of the difference, by one of ``INTERVALS``; ``bounds`` are those of the metric.

    ``auto`` and ``t`` treat the values without each row (or cluster), the jackknife, like a mean; ``percentile`` takes
    quantiles of the values of resampled rows, without the undefined ones.  NaN for fewer than 2 rows or clusters, or if
    the difference is undefined.
    """
    delta = pair.values[1] - pair.values[0]
    without = _without(pair) if len(pair.first) > 1 else np.zeros(0)
    if np.isnan(delta) or (len(without) and np.isnan(without).any()):
        why = None if np.isnan(delta) else Note("undefined_without_row")
        return Interval(math.nan, math.nan, "none", why)
    limits = None if bounds is None else between(bounds)
    sample = Sample.linearised(delta, without, pair.sizes if len(without) else None, limits)
    interval = mean_interval(sample, confidence, kind, resamples=resamples, seed=seed, threads=threads)
    if kind != "percentile" or interval.kind != kind:
        return replace(interval, low=interval.low + delta - sample.mean, high=interval.high + delta - sample.mean)
    values = _resampled(pair, resamples, seed, threads)
    if not len(values):
        return Interval(math.nan, math.nan, "none", Note("undefined_resampled"))
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    return replace(interval, low=low, high=high)


def value_interval(pair: PairedCounts, confidence: float, bounds: Bounds | None = None) -> Interval:
    """The interval of the second system's value, by the jackknife as in ``counts_interval``."""
    sums = pair.second.sum(axis=0)
    value = pair.values[1]
    pieces = range(0, len(pair.second), _AT_ONCE)
    parts = [pair.formula(sums - pair.second[at : at + _AT_ONCE]) for at in pieces] if len(pair.second) > 1 else []
    without = np.concatenate(parts) if parts else np.zeros(0)
    if math.isnan(value) or np.isnan(without).any():
        return Interval(math.nan, math.nan, "none", Note("undefined_for_rows"))
    sample = Sample.linearised(value, without, pair.sizes if len(without) else None, bounds)
    interval = mean_interval(sample, confidence)
    return replace(interval, low=interval.low + value - sample.mean, high=interval.high + value - sample.mean)


def _resampled(pair: PairedCounts, resamples: int, seed: int, threads: int | None) -> Floats:
    """The defined differences of resampled rows or clusters."""
    counts = np.concatenate([pair.first, pair.second], axis=1)
    n, least = len(counts), counts.min(axis=0)
    packed = Packed.of(counts - least, (counts.max(axis=0) - least) * n)
    draws = [drawn(_resampler(word, pair.sizes), n, resamples, seed, threads) for word in packed.words]
    first, second = np.split(packed.unpacked(np.stack(draws, axis=1)) + least * n, 2, axis=1)
    differences = pair.differences(first, second)
    return differences[~np.isnan(differences)]


def _resampler(values: Ints, sizes: Ints | None) -> Callable[[np.uint64, int, Ints], None]:
    """A function that draws rows, or clusters, with replacement and sums their values."""
    if sizes is None:
        return partial(resampled_sums, values)

    def draw(key: np.uint64, first: int, out: Ints) -> None:
        resampled_clusters(values, sizes, key, first, out, np.empty_like(out))

    return draw


def _without(pair: PairedCounts) -> Floats:
    """The differences that are left without each row or cluster (the jackknife)."""
    return pair.differences(pair.first.sum(axis=0) - pair.first, pair.second.sum(axis=0) - pair.second)


# The interval for the difference of the means of two independent samples, runs that share no rows, and its p.


UNPAIRED_TESTS = ("welch",)
"""The test for two runs without shared rows."""
_STRAIGHT = 0.05
"""Up to this skewness, divided by the root of the number of rows, Welch's t holds its level."""


def unpaired_interval(
    first: Sample,
    second: Sample,
    confidence: float,
    kind: str = "auto",
    *,
    resamples: int = 2_000,
    seed: int = 0,
    threads: int | None = None,
) -> Interval:
    """The interval of the difference of two means: Welch's where it holds, else from the interval of each.

    The latter (Newcombe 1998; Zou and Donner 2008) is Δ − √((m₂ − low₂)² + (high₁ − m₁)²) to
    Δ + √((high₂ − m₂)² + (m₁ − low₁)²): each side has the reach of both means that makes it long, so skewed, rare and
    equal scores count as they do for one run.  NaN if one has no interval.

    >>> scores = np.ones(40), np.repeat([1.0, 0.0], [980, 20])
    >>> found = unpaired_interval(*(Sample.of(each, None, (0.0, 1.0)) for each in scores), 0.95)
    >>> round(found.low, 3), round(found.high, 3)
    (-0.031, 0.068)
    """
    drawn: dict[str, Any] = {"resamples": resamples, "seed": seed, "threads": threads}
    one, other = (mean_interval(sample, confidence, kind, **drawn) for sample in (first, second))
    note, delta = joined(one.note, other.note), second.mean - first.mean
    if math.isnan(one.low) or math.isnan(other.low):
        return Interval(math.nan, math.nan, "none", note)
    if is_welch(first, second, kind):
        spread = welch_spread(first, second)
        return replace(spread_interval(delta, spread, confidence, "t"), kind="welch", note=note)
    below = math.hypot(second.mean - other.low, one.high - first.mean)
    above = math.hypot(other.high - second.mean, first.mean - one.low)
    return Interval(delta - below, delta + above, "combined", note)


def is_welch(first: Sample, second: Sample, kind: str = "auto") -> bool:
    """Whether Welch's t holds its level: of enough numbers in both runs that differ, without a long tail."""
    spread = welch_spread(first, second)
    if not spread.error > 0 or kind == "percentile":
        return False
    several = all(sample.kind != "flags" and not few_differ(sample) for sample in (first, second))
    is_straight = several and spread.count >= LEAST_ROWS and abs(spread.skew) <= _STRAIGHT
    return is_straight or (kind == "t" and not (first.agree or second.agree))


def welch_spread(first: Sample, second: Sample) -> Spread:
    """The standard error of the difference of the means, and its degrees of freedom (Welch 1947, Satterthwaite 1946).

    √(e₁² + e₂²) and (e₁² + e₂²)² / (e₁⁴/f₁ + e₂⁴/f₂), with the standard errors and the degrees of freedom of both
    means; NaN if one of them has fewer than two rows or clusters.
    """
    return second.spread.plus(first.spread, -1)


def unpaired_p(first: Sample, second: Sample, kind: str = "auto") -> float:
    """The two-sided p of Welch's t where its interval is shown, else the α of the shown interval that ends at 0."""
    from scipy.special import stdtr

    if is_welch(first, second, kind):
        spread = welch_spread(first, second)
        return float(2 * stdtr(spread.freedom, -abs(second.mean - first.mean) / spread.error))
    return interval_p(lambda confidence: unpaired_interval(first, second, confidence))


# Several tests at once: corrected p values, the test of all pairs of several systems, and their letters.


CORRECTIONS = ("holm", "bh", "none")


def corrected(p_values: Sequence[float], correction: str) -> list[float]:
    """Corrected p values: ``holm`` (family-wise error), ``bh`` (Benjamini and Hochberg's rate), ``none``.

    NaN stays NaN and is not counted.

    >>> corrected([0.01, 0.04, 0.03], "holm")
    [0.03, 0.06, 0.06]
    >>> corrected([0.01, 0.04, 0.03], "bh")
    [0.03, 0.04, 0.04]
    """
    values = np.asarray(p_values, np.float64)
    result = values.copy()
    defined = np.flatnonzero(~np.isnan(values))
    order = defined[np.argsort(values[defined], kind="stable")]
    if correction != "none" and len(order):
        result[order] = {"holm": _holm, "bh": _benjamini_hochberg}[correction](values[order])
    return [float(p) for p in result]


def _holm(ascending: Floats) -> Floats:
    return np.minimum(1.0, np.maximum.accumulate(ascending * np.arange(len(ascending), 0, -1)))


def _benjamini_hochberg(ascending: Floats) -> Floats:
    n = len(ascending)
    scaled = ascending * n / np.arange(1, n + 1)
    return np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])


def compact_letters(count: int, differ: Callable[[int, int], bool]) -> list[str]:
    """Letters for ``count`` systems, in the given order: two share a letter if they are not significantly different.

    By insertion and absorption (Piepho 2004).

    >>> compact_letters(3, lambda a, b: {a, b} == {0, 2})
    ['a', 'ab', 'b']
    """
    groups = [set(range(count))]
    for a in range(count):
        for b in range(a + 1, count):
            if differ(a, b):
                cut = [part for group in groups for part in _split(group, a, b)]
                groups = [group for at, group in enumerate(cut) if not _absorbed(at, cut)]
    groups.sort(key=sorted)
    return ["".join(_letter(at) for at, group in enumerate(groups) if system in group) for system in range(count)]


def _split(group: set[int], a: int, b: int) -> list[set[int]]:
    return [group - {a}, group - {b}] if a in group and b in group else [group]


def _absorbed(at: int, groups: list[set[int]]) -> bool:
    """Whether another group contains this one; of equal groups the first stays."""
    group = groups[at]
    return any(group < other or (group == other and place < at) for place, other in enumerate(groups))


def _letter(place: int) -> str:
    """a to z, then a1 to z1 and so on."""
    return ascii_lowercase[place % 26] + (str(place // 26) if place >= 26 else "")


def max_t_p(
    scores: Floats,
    resamples: int,
    seed: int,
    threads: int | None = None,
    clusters: Ints | None = None,
    rounding: float = ROUNDING,
) -> Floats:
    """The family-wise p value of each pair of systems: a matrix with 1 on its diagonal.

    ``scores`` has a row for each question and a column for each system, all finite, with the relative error
    ``rounding``.  The statistic of a pair is (Σd)²/Σd² of its differences d, which rises with Student's t.  p
    is (1 + #{largest statistic of all pairs ≥ the pair's})/(1 + N) under random signs of the rows' differences, the
    same for all pairs.  The rows of a cluster have one sign.  So near copies are judged by their own small spread.

    >>> max_t_p(np.array([[0.0, 1.0, 1.0]] * 30), resamples=999, seed=0)[0].round(3).tolist()
    [1.0, 0.001, 0.001]

    Source: Westfall and Young 1993, Resampling-Based Multiple Testing.
    """
    table = without_noise(scores, rounding * float(np.abs(scores).max(initial=0.0)))
    if clusters is not None:
        _, numbers = np.unique(clusters, return_inverse=True)
        rows, table = table, np.zeros((int(numbers.max(initial=-1)) + 1, scores.shape[1]))
        np.add.at(table, numbers, rows)
    units, _ = whole(table)
    columns = list(np.ascontiguousarray(units.T))
    flipped = [drawn(partial(flipped_sums, own), len(own), resamples, seed, threads) for own in columns]
    systems = range(len(columns))
    largest, observed = np.zeros(resamples), np.zeros((len(columns), len(columns)))
    for one, other in combinations(systems, 2):
        apart = (columns[one] - columns[other]).astype(np.float64)
        squares = float(apart @ apart)
        if squares > 0:
            observed[one, other] = observed[other, one] = apart.sum() ** 2 / squares
            np.maximum(largest, (flipped[one] - flipped[other]).astype(np.float64) ** 2 / squares, out=largest)
    as_large = resamples - np.searchsorted(np.sort(largest), observed * (1 - _ROUNDING * 1e3))
    p_values: Floats = (1 + as_large) / (1 + resamples)
    return p_values


# The size of an experiment: questions needed to detect a difference, and the difference that questions detect.


@dataclass(frozen=True)
class Aim:
    """What a plan is to show: a difference, or with ``equivalent`` that it lies within a margin if there is none."""

    level: float
    power: float
    equivalent: bool = False

    def difference(self, variance: float, n: float, cluster_size: float) -> float:
        """The smallest true difference, or margin, for which ``n`` questions of this variance are enough.

        (t₁₋α/₂ + t_power)·√(variance/n), of equivalence (t₁₋α + t₍₁₊power₎/₂)·√(variance/n).  t has one degree of
        freedom less than there are clusters.  NaN for fewer than two clusters.
        """
        from scipy.special import stdtrit

        freedom = n / cluster_size - 1
        if freedom < 1:
            return math.nan
        tails = (1 - self.level, (1 + self.power) / 2) if self.equivalent else (1 - self.level / 2, self.power)
        return float(sum(stdtrit(freedom, tail) for tail in tails) * math.sqrt(variance / n))

    def questions(self, variance: float, delta: float, cluster_size: float = 1.0) -> int:
        """The fewest questions that are enough for ``delta``; at least two clusters.

        >>> Aim(0.05, 0.8).questions(0.25, 0.05), Aim(0.05, 0.8, equivalent=True).questions(0.25, 0.05)
        (787, 859)
        """
        if not delta > 0:
            raise InputError(f"expected a difference above 0, got {delta}")
        low = high = math.ceil(2 * cluster_size)

        def are_enough(n: int) -> bool:
            return self.difference(variance, n, cluster_size) <= delta

        while not are_enough(high):
            low, high = high, 2 * high
        return bisect_left(range(high), True, low, high, key=are_enough)


def variance_interval(differences: Sample, confidence: float) -> Interval:
    """The interval of the variance of one question's difference: that of a mean of squares.

    Of differences of flags it is that of the share that differs.  Else it is the interval of the mean of the squared
    residuals, which knows of skewness and of the bounds of the scores, and reaches at least as far as that by χ², which
    is exact for normal differences.  The squares of clusters are of the sums of their residuals.
    """
    from scipy.special import chdtri

    count, n = len(differences.units), differences.n
    if differences.kind == "flag differences" and differences.sizes is None:
        return mean_interval(Sample.of(differences.values**2, None, (0.0, 1.0)), confidence)
    residuals, exponent = differences.residuals
    sizes = np.ones(count) if differences.sizes is None else differences.sizes
    squares = np.ldexp(residuals, exponent) ** 2 * count / (n - sizes)
    most = math.inf
    if differences.bounds is not None:
        low, high = differences.bounds
        largest = float(sizes.max())
        most = (max(high - differences.mean, differences.mean - low) * largest) ** 2 * count / (n - largest)
    interval = mean_interval(Sample.of(squares, None, (0.0, most)), confidence)
    spread, tail = differences.spread, (1 - confidence) / 2
    total = n * spread.error**2 * spread.freedom
    low, high = (total / float(chdtri(spread.freedom, share)) if total > 0 else math.nan for share in (tail, 1 - tail))
    low, high = np.fmin(max(interval.low, 0.0), low), np.fmax(interval.high, high)
    return replace(interval, low=float(low), high=float(high))
