"""Quantities over the units of runs, and their changes between two runs: values, intervals and p from one place.

A unit is a row, or a question with several answers; units of one cluster depend on each other.  ``Scores`` and
``Counts`` are one metric over one part of the units of several runs: its scores, or the counts of a corpus metric.

**Units and quantities.** Rows become units in one place, ``results/aligned_scores.py``: the rows of one run, or of
several paired by id, or of runs that share none. A question with several answers is one unit, with their mean; a unit
has a cluster, and a state that says why it has no score. ``results/quantities.py`` has what is computed over units:
means, percentiles and other figures, values of corpus metrics from counts, and the change of each between two runs (of
paired units, of independent ones, of counts, also relative), each with its interval, p and numbers of units.
``compare``, ``gate``, ``summarize --by`` and ``runs trend`` read these, so that a repeat, a cluster or an infinite
score means the same in all of them; a rule of a gate only says which quantity it compares with which limit. Percentiles
and extremes of repeated questions are those of all answers, in clusters of questions: the mean of five latencies is not
a latency.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Floats, Ints, rounding_error
from fastmetrics.base.notes import Note
from fastmetrics.base.specs import Better
from fastmetrics.plans.corpus_values import many_values
from fastmetrics.results.aligned_scores import AlignedScores
from fastmetrics.stats.estimates import Bounds, Interval, Sample, Spread
from fastmetrics.stats.mean_interval import few_differ, mean_interval, percentile_interval, shape_note, trimmed_mean
from fastmetrics.stats.sampled_means import SampledMean
from fastmetrics.stats.significance import (
    At,
    Formula,
    PairedCounts,
    counts_interval,
    detectable,
    detectable_of,
    effect_size,
    equivalence_p,
    not_worse_p,
    p_note,
    p_value,
    swap_p,
    unpaired_interval,
    unpaired_p,
    value_interval,
    welch_spread,
)
from fastmetrics.stats.sums import TRIMMED, State, counted, exact_mean, percentiles

NO_INTERVAL = Interval(math.nan, math.nan, "none")


@dataclass(frozen=True, kw_only=True)
class Method:
    """How intervals and p values are computed."""

    confidence: float = 0.95
    interval: str = "auto"
    """One of :data:`fastmetrics.stats.mean_interval.INTERVALS`."""
    bootstrap: int = 2_000
    resamples: int = 10_000
    seed: int = 0
    threads: int | None = None

    @property
    def drawn(self) -> dict[str, Any]:
        """The options of what is drawn for intervals."""
        return {"resamples": self.bootstrap, "seed": self.seed, "threads": self.threads}


# Quantities of one run.


@dataclass(frozen=True)
class Quantity:
    """A value with its interval, and the numbers of units and clusters behind it."""

    value: float
    interval: Interval = NO_INTERVAL
    n: int = 0
    n_clusters: int | None = None
    n_failed: int | None = None
    """Of an estimate, the drawn units without a score."""


def figure_of(
    values: Floats, reading: str, clusters: Ints | None, bounds: Bounds | None, method: Method | None
) -> Quantity:
    """A figure of scores by its name: ``mean``, ``std``, ``min``, ``max``, ``sum``, a percentile as ``p95``, or a count
    as ``at_50``.

    Means and percentiles have an interval if there is a ``method``.
    """
    interval = NO_INTERVAL
    n_clusters = None if clusters is None else len(np.unique(clusters))
    if reading.startswith("p"):
        share = percentiles([reading])[reading]
        value = float(np.quantile(values, share)) if len(values) else math.nan
        if method is not None:
            interval = percentile_interval(values, share, method.confidence, clusters, bounds)
        return Quantity(value, interval, len(values), n_clusters)
    if reading == TRIMMED:
        found = trimmed_mean(values, 0.95 if method is None else method.confidence, clusters)
        if method is not None:
            interval = Interval(found.low, found.high, found.interval, found.note)
        return Quantity(found.value, interval, len(values), n_clusters)
    if reading == "mean":
        sample = Sample.of(values, clusters, bounds).ordered()
        if method is not None:
            interval = mean_interval(sample, method.confidence, method.interval, **method.drawn)
        return Quantity(sample.mean, interval, sample.n, n_clusters)
    if reading.startswith("at_"):
        return Quantity(
            float(np.count_nonzero(values == counted([reading])[reading])), interval, len(values), n_clusters
        )
    state = State()
    state.add(pa.array(values))
    return Quantity(float(getattr(state, reading)), interval, len(values), n_clusters)


# Changes of a quantity between two runs: of paired units, of independent ones, and of corpus metrics.


class _Unknown:
    """What is not known of a change whose units have no differences."""

    def p_note(self, test: str) -> str | None:
        """Why p of a test may not hold its level."""
        return None

    def detectable(self, alpha: float) -> float:
        """The smallest true change that such units detect with probability 0.8; NaN if unknown."""
        return math.nan

    def signs(self, better: Better) -> dict[str, Any]:
        """``d_z``, ``wins``, ``ties`` and ``losses`` of the second run, which need the difference of each unit."""
        return {"d_z": math.nan, "wins": None, "ties": None, "losses": None}

    def margins(self, better: Better, margin: float) -> dict[str, float]:
        """``p_equivalent`` within the margin, ``p_not_worse`` by more: the levels at which the interval reaches it."""
        return {}


_MOST_DOUBLED = 40


def _crossing(excess: Callable[[float], float], start: float, step: float) -> float:
    """The place above ``start`` where a function that falls from above 0 crosses it; infinite if it does not."""
    from scipy.optimize import brentq

    end = start + step
    for _ in range(_MOST_DOUBLED):
        if not excess(end) >= 0:
            return float(brentq(excess, start, end, xtol=1e-7 * step, rtol=1e-9))
        start, end = end, end + (end - start) * 2
    return math.inf


def _margins(interval: At, better: Better, margin: float) -> dict[str, float]:
    p_not_worse = not_worse_p(interval, margin, better == "lower")
    return {"p_equivalent": equivalence_p(interval, margin), "p_not_worse": p_not_worse}


@dataclass(frozen=True)
class PairedMeans:
    """The change of a mean over units that both runs have."""

    first: Floats
    second: Floats
    clusters: Ints | None = None
    bounds: Bounds | None = None
    rounding: float = rounding_error(None)
    """The relative error of differences of the scores, by their type."""

    @cached_property
    def differences(self) -> Sample:
        """The difference of each unit."""
        return Sample.between(self.first, self.second, self.clusters, self.bounds, self.rounding)

    @cached_property
    def before(self) -> float:
        """The mean of the first run."""
        return exact_mean(self.first)

    @cached_property
    def after(self) -> float:
        """The mean of the second run."""
        return exact_mean(self.second)

    @property
    def delta(self) -> float:
        """The mean difference."""
        return self.differences.mean

    @property
    def n_clusters(self) -> int | None:
        """The number of clusters, if units are clustered."""
        return None if self.differences.sizes is None else len(self.differences.sizes)

    def interval(self, method: Method) -> Interval:
        """The interval of the mean difference."""
        return mean_interval(self.differences, method.confidence, method.interval, **method.drawn)

    def relative(self, method: Method) -> tuple[float, Interval]:
        """The change and its interval as shares of the first mean, which is estimated from the same units.

        A share r is in the interval if 0 is in that of the mean of d − r·b over units with the change d and the first
        score b (Fieller 1954); the latter is of the kind that ``method`` asks for.  Where few units changed, it reaches
        at least as far as the interval of the change, divided by the first mean.
        """
        if not len(self.first) or self.before == 0:
            return math.nan, NO_INTERVAL
        size, plain = abs(self.before), self.interval(method)
        ratio, sign = self.delta / size, math.copysign(1.0, self.before)

        def of(share: float) -> Interval:
            args = (self.first, self.second, self.clusters, self.bounds, self.rounding)
            sample = Sample.between(*args, times=1 + sign * share)
            return mean_interval(sample, method.confidence, method.interval, **method.drawn)

        own, start = of(ratio), (plain.high - plain.low) / size / 2
        divided = replace(plain, low=plain.low / size, high=plain.high / size)
        if math.isnan(own.low) or not start > 0:
            return ratio, divided
        low = -_crossing(lambda share: -of(-share).low, -ratio, start)
        high = _crossing(lambda share: of(share).high, ratio, start)
        if few_differ(self.differences):
            low, high = min(low, divided.low), max(high, divided.high)
        if self.bounds is not None and self.bounds[0] >= 0:
            low = max(low, -1.0)
        first = Sample.of(self.first, self.clusters, self.bounds)
        note = own.note or (shape_note(first) if first.kind == "open-ended" else None)
        note = note if math.isfinite(low) and math.isfinite(high) else Note("open_side")
        return ratio, replace(own, low=low, high=high, note=note)

    def p(self, test: str, method: Method) -> float:
        """The p of one of ``TESTS``."""
        return p_value(test, self.differences, method.resamples, method.seed, method.threads)

    def p_note(self, test: str) -> str | None:
        """The note on few and skewed differences."""
        return p_note(test, self.differences)

    def detectable(self, alpha: float) -> float:
        """By a t-test at the level ``alpha``."""
        return detectable(self.differences, alpha)

    def signs(self, better: Better) -> dict[str, Any]:
        """The effect size, and the units won, tied and lost by the second run."""
        rises, falls = int((self.second > self.first).sum()), int((self.second < self.first).sum())
        wins, losses = (falls, rises) if better == "lower" else (rises, falls)
        ties = len(self.first) - wins - losses
        return {"d_z": effect_size(self.differences), "wins": wins, "ties": ties, "losses": losses}

    def margins(self, better: Better, margin: float) -> dict[str, float]:
        """The levels at which the default interval reaches the margin."""
        return _margins(lambda confidence: mean_interval(self.differences, confidence), better, margin)


@dataclass(frozen=True)
class SampledMeans(_Unknown):
    """The change of a mean that is estimated from drawn rows of one run or of both."""

    first: SampledMean
    second: SampledMean
    both: SampledMean
    """The difference of what each row stands for."""

    @classmethod
    def between(cls, first: SampledMean, second: SampledMean, values: Floats, bounds: Bounds | None) -> SampledMeans:
        """Of the same units, with the scores ``values`` of both runs."""
        known = ~np.isnan(values).any(axis=0)
        shares = np.minimum(first.shares, second.shares)  # NaN where a row was not drawn in both
        plain = Sample.between(values[0, known], values[1, known], None, bounds)
        both = SampledMean(second.stands - first.stands, shares, plain, 1 / shares[known], first.clusters)
        return cls(first, second, both)

    @property
    def before(self) -> float:
        """The mean of the first run."""
        return self.first.value

    @property
    def after(self) -> float:
        """The mean of the second run."""
        return self.second.value

    @property
    def delta(self) -> float:
        """The change; NaN if no row with both scores was drawn."""
        return self.both.value

    @property
    def n_clusters(self) -> int | None:
        """The number of clusters, if units are clustered."""
        return self.both.n_clusters

    def interval(self, method: Method) -> Interval:
        """The interval of the change."""
        return self.both.interval(method.confidence, method.interval, **method.drawn)

    def relative(self, method: Method) -> tuple[float, Interval]:
        """The change and its interval as shares of the first mean, by the delta method."""
        size = abs(self.before) or math.nan
        share = self.delta / size
        stands = (self.both.stands - share * math.copysign(1.0, self.before) * (self.first.stands - self.before)) / size
        plain = replace(self.both.plain, bounds=None)
        return share, replace(self.both, stands=stands, plain=plain).interval(method.confidence, method.interval)

    def p(self, test: str, method: Method) -> float:
        """The p of Student's t, whatever the test: rows that were not drawn have no differences to sign."""
        from scipy.special import stdtr

        spread = self.both.spread
        if not spread.error > 0:
            return 1.0 if self.delta == 0 else math.nan
        return float(2 * stdtr(spread.freedom, -abs(self.delta) / spread.error))

    def p_note(self, test: str) -> str | None:
        """The note on the interval."""
        return self.both.interval(0.95).note

    def detectable(self, alpha: float) -> float:
        """By a t-test at the level ``alpha``."""
        return detectable_of(self.both.spread, alpha)

    def margins(self, better: Better, margin: float) -> dict[str, float]:
        """The levels at which the default interval reaches the margin."""
        return _margins(self.both.interval, better, margin)


@dataclass(frozen=True)
class IndependentMeans(_Unknown):
    """The change of a mean between two runs that share no units."""

    first: Sample
    second: Sample

    @property
    def before(self) -> float:
        """The mean of the first run."""
        return self.first.mean

    @property
    def after(self) -> float:
        """The mean of the second run."""
        return self.second.mean

    @property
    def delta(self) -> float:
        """The change."""
        return self.after - self.before

    @property
    def n_clusters(self) -> int | None:
        """The number of clusters of both runs, if units are clustered."""
        if self.first.sizes is None or self.second.sizes is None:
            return None
        return len(self.first.sizes) + len(self.second.sizes)

    @property
    def _spread(self) -> Spread:
        return welch_spread(self.first, self.second)

    def interval(self, method: Method) -> Interval:
        """The interval from those of both means."""
        return unpaired_interval(self.first, self.second, method.confidence, method.interval, **method.drawn)

    def p(self, test: str, method: Method) -> float:
        """The p that agrees with the interval."""
        return unpaired_p(self.first, self.second, method.interval)

    def p_note(self, test: str) -> str | None:
        """The notes on the intervals of both means."""
        return self._at(0.95).note

    def _at(self, confidence: float) -> Interval:
        return unpaired_interval(self.first, self.second, confidence)

    def detectable(self, alpha: float) -> float:
        """By Welch's test at the level ``alpha``."""
        return detectable_of(self._spread, alpha)

    def margins(self, better: Better, margin: float) -> dict[str, float]:
        """The levels at which the default interval reaches the margin."""
        return _margins(self._at, better, margin)


@dataclass(frozen=True)
class CountedValues(_Unknown):
    """The change of a corpus metric over units that both runs counted."""

    pair: PairedCounts
    bounds: Bounds | None = None

    @cached_property
    def _values(self) -> tuple[float, float]:
        return self.pair.values

    @property
    def before(self) -> float:
        """The value of the first run."""
        return self._values[0]

    @property
    def after(self) -> float:
        """The value of the second run."""
        return self._values[1]

    @property
    def delta(self) -> float:
        """The change."""
        return self.after - self.before

    @property
    def n_clusters(self) -> int | None:
        """The number of clusters, if units are clustered."""
        return None if self.pair.sizes is None else len(self.pair.sizes)

    def interval(self, method: Method) -> Interval:
        """From the jackknife, or from resampled units."""
        return counts_interval(self.pair, method.confidence, method.interval, bounds=self.bounds, **method.drawn)

    def relative(self, method: Method) -> tuple[float, Interval]:
        """The change and its interval as shares of the first value."""
        size, interval = abs(self.before) or math.nan, self.interval(method)
        return self.delta / size, replace(interval, low=interval.low / size, high=interval.high / size)

    def p(self, test: str, method: Method) -> float:
        """The p of approximate randomisation; other tests do not exist."""
        return swap_p(self.pair, method.resamples, method.seed, method.threads) if test == "fisher" else math.nan


Change: TypeAlias = PairedMeans | SampledMeans | IndependentMeans | CountedValues
"""The change of a quantity from one run to another."""


# One metric over one part of the units of several runs.


@dataclass(frozen=True)
class Scores:
    """The scores of a metric, a row for each run, NaN without a score."""

    values: Floats
    clusters: Ints | None = None
    bounds: Bounds | None = None
    rounding: float = rounding_error(None)
    independent: bool = False
    """Whether every unit is one of one run only."""
    worst: float | None = None
    """The score that counts for a unit without one, if these count."""
    missed: Flags | None = None
    """Which units of each run count as the ``worst``: the run has no score there, and the metric is not undefined."""
    drawn: tuple[Floats, Floats] | None = None
    """If a run has scores of drawn units alone: for each run and unit the probability of a drawn one, NaN for others,
    and a prediction, NaN for a unit that the run lacks."""

    @cached_property
    def has(self) -> Flags:
        """Which units of each run have a score, or are estimated."""
        return ~np.isnan(self.values if self.drawn is None else self.drawn[1])

    @classmethod
    def of(cls, units: AlignedScores, name: str, bounds: Bounds | None) -> Scores:
        """The scores of a metric by unit."""
        values = np.stack([units.scores(at, name) for at in range(len(units.runs))])
        rounding, independent = rounding_error(units.precision(name)), units.joined_by == "none"
        return cls(values, None, bounds, rounding, independent, drawn=units.drawn(name, values))

    def part(self, rows: Ints | slice, clusters: Ints | None) -> Scores:
        """The scores of some units, in these ``clusters`` of all."""
        some = None if clusters is None else clusters[rows]
        missed = None if self.missed is None else self.missed[:, rows]
        drawn = None if self.drawn is None else (self.drawn[0][:, rows], self.drawn[1][:, rows])
        return replace(self, values=self.values[:, rows], clusters=some, missed=missed, drawn=drawn)

    def counting(self, worst: float, missed: Flags) -> Scores:
        """The scores with the ``worst`` for the units that a run ``missed``, which were drawn for certain."""
        if self.drawn is None:
            return replace(self, worst=worst, missed=missed)
        shares, predicted = (
            np.where(missed & np.isnan(some), one, some) for some, one in zip(self.drawn, (1.0, worst), strict=True)
        )
        return replace(self, values=np.where(missed, worst, self.values), drawn=(shares, predicted))

    def with_certain(self, extra: int, value: float) -> Scores:
        """With ``extra`` units drawn for certain that have this value, each a cluster of its own."""
        assert self.drawn is not None
        values, shares, predicted = (
            np.append(some, np.full((len(some), extra), one), axis=1)
            for some, one in ((self.values, value), (self.drawn[0], 1.0), (self.drawn[1], value))
        )
        own = self.clusters
        clusters = None if own is None else np.append(own, own.max(initial=-1) + 1 + np.arange(extra))
        return replace(self, values=values, clusters=clusters, drawn=(shares, predicted))

    def clusters_of(self, units: Flags | slice) -> Ints | None:
        """The clusters of some units."""
        return None if self.clusters is None else self.clusters[units]

    def sampled(self, run: int, units: Flags | slice = slice(None)) -> SampledMean:
        """The mean of a run over units that it has, from those that were drawn."""
        assert self.drawn is not None
        shares, predicted = self.drawn[0][run][units], self.drawn[1][run][units]
        return SampledMean.of(self.values[run][units], shares, predicted, self.clusters_of(units), self.bounds)

    def notes(self, name: str, systems: Sequence[str]) -> list[str]:
        """How many drawn units each estimate is from: of the one run, or of each pair of several."""
        if self.drawn is None:
            return []
        if len(systems) == 1:
            return [self.sampled(0, self.has[0]).note(name)]
        pairs = [(a, b, self.change(a, b)) for a, b in combinations(range(len(systems)), 2)]
        named = ((f"{name}, {systems[b]} − {systems[a]}", change) for a, b, change in pairs)
        return [change.both.note(text) for text, change in named if isinstance(change, SampledMeans)]

    def value(self, run: int) -> float:
        """The mean of a run."""
        if self.drawn is not None:
            return self.sampled(run, self.has[run]).value
        return exact_mean(self.values[run][self.has[run]])

    def _counting(self, run: int) -> tuple[Floats, Flags]:
        """The scores of a run, with the worst where it missed one; and which units have either."""
        if self.worst is None or self.missed is None:
            return self.values[run], self.has[run]
        return np.where(self.missed[run], self.worst, self.values[run]), self.has[run] | self.missed[run]

    def _sample(self, run: int) -> Sample:
        values, has = self._counting(run)
        return Sample.of(values[has], self.clusters_of(has), self.bounds)

    def mean(self, run: int, method: Method) -> Quantity:
        """The mean of a run with its interval."""
        has = self.has[run]
        if self.drawn is not None:
            found = self.sampled(run, has)
            interval = found.interval(method.confidence, method.interval, **method.drawn)
            return Quantity(found.value, interval, found.n, found.n_clusters, found.n_failed)
        return figure_of(self.values[run][has], "mean", self.clusters_of(has), self.bounds, method)

    def change(self, a: int, b: int) -> Change:
        """The change from run a to run b."""
        if self.drawn is not None:
            units = self.has[a] & self.has[b]
            values = self.values[[a, b]][:, units]
            return SampledMeans.between(self.sampled(a, units), self.sampled(b, units), values, self.bounds)
        if self.independent:
            return IndependentMeans(self._sample(a), self._sample(b))
        (first, has_first), (second, has_second) = self._counting(a), self._counting(b)
        both = has_first & has_second & (self.has[a] | self.has[b])
        units = slice(None) if both.all() else both  # no copies of columns with millions of scores
        clusters = self.clusters_of(units)
        return PairedMeans(first[units], second[units], clusters, self.bounds, self.rounding)


@dataclass(frozen=True)
class Counts:
    """The counts of a corpus metric, for each run and unit, and which units it has."""

    counts: Ints
    has: Flags
    formula: Formula
    clusters: Ints | None = None
    bounds: Bounds | None = None

    @classmethod
    def of(cls, units: AlignedScores, name: str, bounds: Bounds | None) -> Counts:
        """The counts of a corpus metric by unit."""
        return cls(*units.counts(name), partial(many_values, units.runs[0].spec(name)), None, bounds)

    def part(self, rows: Ints | slice, clusters: Ints | None) -> Counts:
        """The counts of some units, in these ``clusters`` of all."""
        some = None if clusters is None else clusters[rows]
        return replace(self, counts=self.counts[:, rows], has=self.has[:, rows], clusters=some)

    def quantity(self, run: int, method: Method | None) -> Quantity:
        """The value over all units of a run, NaN without any; with its interval if there is a ``method``."""
        has = self.has[run]
        clusters, counts = None if self.clusters is None else self.clusters[has], self.counts[run, has]
        pair = PairedCounts.of(counts, counts, self.formula, clusters)
        interval = NO_INTERVAL if method is None else value_interval(pair, method.confidence, self.bounds)
        return Quantity(pair.values[1], interval, len(counts), None if pair.sizes is None else len(pair.sizes))

    def value(self, run: int) -> float:
        """The value over all units of a run; NaN without any."""
        return replace(self, clusters=None).quantity(run, None).value

    def change(self, a: int, b: int) -> CountedValues:
        """The change from run a to run b."""
        both = self.has[a] & self.has[b]
        clusters = None if self.clusters is None else self.clusters[both]
        return CountedValues(
            PairedCounts.of(self.counts[a, both], self.counts[b, both], self.formula, clusters), self.bounds
        )
