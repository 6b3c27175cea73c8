"""Tests and the interval for the difference of the means of two independent samples: runs that share no rows."""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations

import numpy as np

from fastmetrics.kernels.resampling import split_sums
from fastmetrics.stats.intervals.bootstrap_intervals import drawn
from fastmetrics.stats.intervals.estimates import Interval, Sample, Spread, whole

UNPAIRED_TESTS = ("permutation", "welch")
"""The tests for two runs without shared rows."""

_EXACT = 20_000
"""Up to this number of splits, all are enumerated."""
_FEW = 20


def welch_spread(first: Sample, second: Sample) -> Spread:
    """The standard error of the difference of the means, and its degrees of freedom (Welch 1947, Satterthwaite 1946).

    √(e₁² + e₂²) and (e₁² + e₂²)² / (e₁⁴/f₁ + e₂⁴/f₂), with the standard errors and the degrees of freedom of both
    means; NaN if one of them has fewer than two rows or clusters.
    """
    return second.spread.plus(first.spread, -1)


def welch_p(first: Sample, second: Sample) -> float:
    """The two-sided p of Welch's t-test; NaN below two rows each, and where neither sample varies."""
    from scipy.special import stdtr

    spread = welch_spread(first, second)
    if not spread.error > 0:
        return math.nan
    return float(2 * stdtr(spread.freedom, -abs(second.mean - first.mean) / spread.error))


def welch_interval(first: Sample, second: Sample, confidence: float) -> Interval:
    """The interval of the difference of the means by Welch's t."""
    from scipy.special import stdtrit

    spread = welch_spread(first, second)
    if not spread.error > 0:
        few = math.isnan(spread.error)
        return Interval(math.nan, math.nan, "none", f"no interval: {'fewer than 2 rows' if few else 'no scores vary'}")
    reach = float(stdtrit(spread.freedom, (1 + confidence) / 2)) * spread.error
    delta = second.mean - first.mean
    few = min(len(first.units), len(second.units)) < _FEW
    note = f"approximate: fewer than {_FEW} rows or clusters in a run" if few else None
    return Interval(delta - reach, delta + reach, "welch", note)


def permutation_p(first: Sample, second: Sample, resamples: int, seed: int, threads: int | None) -> float:
    """The randomisation test: (1 + #{|Δ*| ≥ |Δ|})/(1 + N), where Δ* is of a random split of all values.

    The splits keep the sizes of the samples.  If there are at most 20,000 splits, all are enumerated instead.  NaN
    without values on a side, and for clusters.
    """
    if not first.n or not second.n or first.sizes is not None:
        return math.nan
    smaller, larger = sorted((first.values, second.values), key=len)
    units, _ = whole(np.concatenate([smaller, larger]))
    size, n, total = len(units), len(smaller), int(units.sum())
    own = int(units[:n].sum())
    units = np.sort(units)  # the same draws for any order of the rows
    is_small = n * math.log(size / n) < math.log(_EXACT) and math.comb(size, n) <= _EXACT
    if is_small:
        sums = [int(units[list(rows)].sum()) for rows in combinations(range(size), n)]
    else:
        sums = drawn(partial(split_sums, units, n), size, resamples, seed, threads).tolist()
    # Δ is proportional to size·sum − n·total; each value was rounded by up to half a unit
    reached = abs(size * own - n * total) - size * n
    far = sum(abs(size * split_sum - n * total) >= reached for split_sum in sums)
    return far / len(sums) if is_small else (1 + far) / (1 + resamples)
