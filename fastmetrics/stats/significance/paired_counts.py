"""Resampling corpus metrics of two systems from the counts of each row, with the same draws as for paired scores.

A corpus metric is a formula over sums of counts.  Resampling or swapping rows gives new sums and a new value; integer
sums make it independent of the order of the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.kernels.resampling import flipped_sums, resampled_clusters, resampled_sums
from fastmetrics.stats.intervals.bootstrap_intervals import drawn, shifted_tails
from fastmetrics.stats.intervals.estimates import Bounds, Interval, Sample, between
from fastmetrics.stats.intervals.mean_interval import SEQUENTIAL, mean_interval
from fastmetrics.stats.significance.packed_counts import Packed

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

    ``auto``, ``t`` and ``studentised`` treat the values without each row (or cluster), the jackknife, like a mean;
    ``percentile`` and ``bca`` take quantiles of the values of resampled rows, without the undefined ones.  NaN for
    fewer than 2 rows or clusters, or if the difference is undefined.
    """
    if kind == SEQUENTIAL:
        return Interval(math.nan, math.nan, "none", "no interval: a sequential interval needs scores of rows")
    delta = pair.values[1] - pair.values[0]
    without = _without(pair) if len(pair.first) > 1 else np.zeros(0)
    if np.isnan(delta) or (len(without) and np.isnan(without).any()):
        why = None if np.isnan(delta) else "no interval: the metric is undefined without one of the rows"
        return Interval(math.nan, math.nan, "none", why)
    limits = None if bounds is None else between(bounds)
    sample = Sample.linearised(delta, without, pair.sizes if len(without) else None, limits)
    interval = mean_interval(sample, confidence, kind, resamples=resamples, seed=seed, threads=threads)
    if kind not in ("percentile", "bca") or interval.kind != kind:
        return replace(interval, low=interval.low + delta - sample.mean, high=interval.high + delta - sample.mean)
    values = _resampled(pair, resamples, seed, threads)
    if not len(values):
        return Interval(math.nan, math.nan, "none", "no interval: the metric is undefined for resampled rows")
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if kind == "bca":
        below = float((values < delta).mean() + 0.5 * (values == delta).mean())
        tails = shifted_tails(tails, below, sample.spread.skew / 6)
    low, high = np.quantile(values, tails).tolist()
    return replace(interval, low=low, high=high)


def value_interval(pair: PairedCounts, confidence: float, bounds: Bounds | None = None) -> Interval:
    """The interval of the second system's value, by the jackknife as in ``counts_interval``."""
    sums = pair.second.sum(axis=0)
    value = pair.values[1]
    pieces = range(0, len(pair.second), _AT_ONCE)
    parts = [pair.formula(sums - pair.second[at : at + _AT_ONCE]) for at in pieces] if len(pair.second) > 1 else []
    without = np.concatenate(parts) if parts else np.zeros(0)
    if math.isnan(value) or np.isnan(without).any():
        return Interval(math.nan, math.nan, "none", "no interval: the metric is undefined for these rows")
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
