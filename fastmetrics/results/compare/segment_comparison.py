"""One metric over one segment: tests of every pair of systems on shared rows, on counts of rows, or on other rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ints, rounding_error
from fastmetrics.base.specs import Better
from fastmetrics.results.compare.compared_pair import Compared, Ranking
from fastmetrics.results.compare.comparison_options import HowToCompare
from fastmetrics.stats.estimates import Bounds, Interval, Sample, Spread
from fastmetrics.stats.mean_interval import mean_interval
from fastmetrics.stats.significance import (
    Formula,
    PairedCounts,
    compact_letters,
    counts_interval,
    detectable,
    effect_size,
    equivalence_p,
    not_worse_p,
    p_value,
    permutation_p,
    swap_p,
    tukey_p,
    welch_interval,
    welch_p,
    welch_spread,
)
from fastmetrics.stats.sums import exact_mean

_NO_SIGNS: dict[str, Any] = {"d_z": math.nan, "wins": None, "ties": None, "losses": None}
"""The fields of :class:`Compared` that need the difference of each row."""


def figures_of(interval: Interval, test: str, p: float) -> dict[str, Any]:
    """The fields of :class:`Compared` for the interval of a difference and its p, before any correction."""
    bounds = {"low": interval.low, "high": interval.high, "interval": interval.kind, "interval_note": interval.note}
    return {**bounds, "test": test, "p": p, "p_corrected": p}


def margin_tests(delta: float, spread: Spread, better: Better, margin: float | None) -> dict[str, Any]:
    """The p of equivalence within the margin, and of not being worse by more; nothing without a margin."""
    if margin is None:
        return {}
    gain = -delta if better == "lower" else delta
    return {
        "p_equivalent": equivalence_p(delta, spread, margin),
        "p_not_worse": not_worse_p(gain, spread, margin),
    }


@dataclass(frozen=True)
class Cell:
    """One metric in one segment, with a row of scores for each system."""

    metric: str
    segment: str | None
    better: Better
    scores: Floats
    clusters: Ints | None
    bounds: Bounds | None
    rounding: float = rounding_error(None)
    """The relative error of differences of the scores, by their type."""

    def compared(self, systems: Sequence[str], how: HowToCompare) -> Iterator[Compared]:
        """The comparisons of every pair of systems, one for each test."""
        for a, b in combinations(range(len(systems)), 2):
            yield from self._pair(systems[a], systems[b], self.scores[a], self.scores[b], how)

    def _pair(self, first: str, second: str, a: Floats, b: Floats, how: HowToCompare) -> Iterator[Compared]:
        has_a, has_b = ~np.isnan(a), ~np.isnan(b)
        both = has_a & has_b
        x, y = a[both], b[both]
        clusters = None if self.clusters is None else self.clusters[both]
        differences = Sample.between(x, y, clusters, self.bounds, self.rounding)
        drawn: dict[str, Any] = {"resamples": how.bootstrap, "seed": how.seed, "threads": how.threads}
        interval = mean_interval(differences, how.confidence, how.interval, **drawn)
        rises, falls = int((y > x).sum()), int((y < x).sum())
        wins, losses = (falls, rises) if self.better == "lower" else (rises, falls)
        for test in how.tests:
            fits = test != "mcnemar" or bool(np.isin(np.concatenate([x, y]), (0.0, 1.0)).all())
            drawn_p = (how.resamples, how.seed, how.threads, how.confidence)
            p = p_value(test, differences, *drawn_p) if fits else math.nan
            yield Compared(
                metric=self.metric,
                baseline=first,
                other=second,
                segment=self.segment,
                n_paired=len(x),
                n_only_baseline=int((has_a & ~has_b).sum()),
                n_only_other=int((has_b & ~has_a).sum()),
                mean_baseline=exact_mean(x),
                mean_other=exact_mean(y),
                delta=differences.mean,
                n_clusters=None if differences.sizes is None else len(differences.sizes),
                d_z=effect_size(differences),
                wins=wins,
                ties=len(x) - wins - losses,
                losses=losses,
                detectable=detectable(differences, how.corrected_alpha),
                all_baseline=exact_mean(a[has_a]),
                all_other=exact_mean(b[has_b]),
                **figures_of(interval, test, p),
                **margin_tests(differences.mean, differences.spread, self.better, how.margin),
            )

    def ranking(self, systems: Sequence[str], how: HowToCompare) -> Ranking:
        """The systems sorted by their means over the rows where all have a score, with letters by Tukey's test."""
        has_all = ~np.isnan(self.scores).any(axis=0)
        table = np.ascontiguousarray(self.scores[:, has_all].T)
        clusters = None if self.clusters is None else self.clusters[has_all]
        means = [exact_mean(column) for column in table.T]
        sign = 1 if self.better == "lower" else -1
        order = sorted(range(len(systems)), key=lambda at: (sign * means[at] if len(table) else 0, at))
        p = tukey_p(table, how.resamples, how.seed, how.threads, clusters)
        alpha = 1 - how.confidence
        letters = compact_letters(len(order), lambda first, second: bool(p[order[first], order[second]] <= alpha))
        return Ranking(
            metric=self.metric,
            n=len(table),
            systems=[systems[at] for at in order],
            means=[means[at] for at in order],
            letters=letters,
            p=[[float(p[first, second]) for second in order] for first in order],
        )


@dataclass(frozen=True)
class CountedCell:
    """One corpus metric in one segment: the counts of each system's rows, and which rows it has."""

    metric: str
    segment: str | None
    counts: Ints
    has: Flags
    formula: Formula
    clusters: Ints | None
    bounds: Bounds | None

    def compared(self, systems: Sequence[str], how: HowToCompare) -> Iterator[Compared]:
        """The comparisons of every pair of systems, one for each test."""
        for a, b in combinations(range(len(systems)), 2):
            yield from self._pair((a, b), (systems[a], systems[b]), how)

    def _pair(self, places: tuple[int, int], names: tuple[str, str], how: HowToCompare) -> Iterator[Compared]:
        has_a, has_b = (self.has[place] for place in places)
        both = has_a & has_b
        first, second = (self.counts[place, both] for place in places)
        pair = PairedCounts.of(first, second, self.formula, None if self.clusters is None else self.clusters[both])
        mean_a, mean_b = pair.values
        drawn: dict[str, Any] = {"resamples": how.bootstrap, "seed": how.seed, "threads": how.threads}
        interval = counts_interval(pair, how.confidence, how.interval, bounds=self.bounds, **drawn)
        for test in how.tests:
            p = swap_p(pair, how.resamples, how.seed, how.threads) if test == "fisher" else math.nan
            yield Compared(
                metric=self.metric,
                baseline=names[0],
                other=names[1],
                segment=self.segment,
                n_paired=len(first),
                n_only_baseline=int((has_a & ~has_b).sum()),
                n_only_other=int((has_b & ~has_a).sum()),
                mean_baseline=mean_a,
                mean_other=mean_b,
                delta=mean_b - mean_a,
                n_clusters=None if pair.sizes is None else len(pair.sizes),
                all_baseline=self._value(places[0]),
                all_other=self._value(places[1]),
                detectable=math.nan,
                **_NO_SIGNS,
                **figures_of(interval, test, p),
            )

    def _value(self, system: int) -> float:
        """The value over all rows of a system; NaN without rows."""
        rows = self.has[system]
        return float(self.formula(self.counts[system, rows].sum(axis=0)[None])[0]) if rows.any() else math.nan


@dataclass(frozen=True)
class UnpairedCell:
    """One metric in one segment, with a row of scores for each system, NaN for the rows of other systems."""

    metric: str
    segment: str | None
    better: Better
    scores: Floats
    clusters: Ints | None
    bounds: Bounds | None

    def compared(self, systems: Sequence[str], how: HowToCompare) -> Iterator[Compared]:
        """The comparisons of every pair of systems, one for each test."""
        samples = [self._sample(scores) for scores in self.scores]
        for a, b in combinations(range(len(systems)), 2):
            yield from self._pair((systems[a], systems[b]), samples[a], samples[b], how)

    def _sample(self, scores: Floats) -> Sample:
        has_score = ~np.isnan(scores)
        return Sample.of(scores[has_score], None if self.clusters is None else self.clusters[has_score], self.bounds)

    def _pair(self, names: tuple[str, str], first: Sample, second: Sample, how: HowToCompare) -> Iterator[Compared]:
        from scipy.special import stdtrit

        interval, spread = welch_interval(first, second, how.confidence), welch_spread(first, second)
        delta, detectable = second.mean - first.mean, math.nan
        if spread.error > 0:
            quantiles = stdtrit(spread.freedom, 1 - how.corrected_alpha / 2) + stdtrit(spread.freedom, 0.8)
            detectable = float(quantiles * spread.error)
        for test in how.tests:
            p = (
                welch_p(first, second)
                if test == "welch"
                else permutation_p(first, second, how.resamples, how.seed, how.threads)
            )
            yield Compared(
                metric=self.metric,
                baseline=names[0],
                other=names[1],
                segment=self.segment,
                n_paired=0,
                n_only_baseline=first.n,
                n_only_other=second.n,
                mean_baseline=first.mean,
                mean_other=second.mean,
                delta=delta,
                n_clusters=None
                if first.sizes is None or second.sizes is None
                else len(first.sizes) + len(second.sizes),
                detectable=detectable,
                all_baseline=exact_mean(first.values),
                all_other=exact_mean(second.values),
                **_NO_SIGNS,
                **figures_of(interval, test, p),
                **margin_tests(delta, spread, self.better, how.margin),
            )
