"""Paired tests for the mean difference between two systems, also for its equivalence."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from fastmetrics.kernels.resampling import flipped_sums
from fastmetrics.stats.intervals.bootstrap_intervals import drawn
from fastmetrics.stats.intervals.confidence_sequences import sequential_p
from fastmetrics.stats.intervals.estimates import Sample, Spread
from fastmetrics.stats.sums.exact_sums import exact_sum

TESTS = ("fisher", "t", "mcnemar", "wilcoxon", "sequential")
"""The tests for a pair of systems."""

_EXACT = 20
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
    from scipy.special import stdtrit

    spread = differences.spread
    if math.isnan(spread.error) or differences.agree:
        return math.nan
    return float((stdtrit(spread.freedom, 1 - alpha / 2) + stdtrit(spread.freedom, power)) * spread.error)


def p_value(
    test: str, differences: Sample, resamples: int, seed: int, threads: int | None, confidence: float = 0.95
) -> float:
    """The two-sided p of one of ``TESTS``; NaN without rows, and of ``sequential`` for scores without bounds."""
    if differences.n == 0:
        return math.nan
    if test == "fisher":
        return randomisation_p(differences, resamples, seed, threads)
    if test == "sequential":
        if differences.bounds is None or differences.sizes is not None:
            return math.nan
        return sequential_p(differences.values, differences.bounds, 0.0, confidence)
    return {"t": t_p, "mcnemar": mcnemar_p, "wilcoxon": wilcoxon_p}[test](differences)


def randomisation_p(differences: Sample, resamples: int, seed: int, threads: int | None) -> float:
    """Fisher's randomisation test: (1 + #{|Δ*| ≥ |Δ|})/(1 + N), where Δ* has random signs of the differences.

    For 20 rows or fewer, all 2ⁿ sign patterns are enumerated instead.  Clusters flip together.
    """
    units = differences.units
    tolerance = len(units)  # each value was rounded by up to half a unit
    reached = abs(int(units.sum())) - tolerance
    if len(units) <= _EXACT:
        sums = np.zeros(1, np.int64)
        for unit in units:
            sums = np.concatenate([sums - unit, sums + unit])
        return float(np.mean(np.abs(sums) >= reached))
    totals = drawn(partial(flipped_sums, units), len(units), resamples, seed, threads)
    return (1 + int((np.abs(totals) >= reached).sum())) / (1 + resamples)


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


def mcnemar_p(differences: Sample) -> float:
    """McNemar's exact test for scores of 0 and 1: a binomial test over the differing rows; 1 without any."""
    from scipy.special import bdtr

    wins, losses = int((differences.values > 0).sum()), int((differences.values < 0).sum())
    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5))) if wins + losses else 1.0


def wilcoxon_p(differences: Sample) -> float:
    """Wilcoxon's signed-rank test as in SciPy (without zeros); 1 if all differences are 0."""
    from scipy.stats import wilcoxon

    values = differences.values[differences.values != 0]
    return float(wilcoxon(values).pvalue) if len(values) else 1.0


def equivalence_p(delta: float, spread: Spread, margin: float) -> float:
    """The p of two one-sided t tests (TOST, Schuirmann 1987) that |Δ| is at least ``margin``.

    The greater of both p; equivalent at level α if it is at most α, that is if the interval at confidence 1 − 2α lies
    within ±``margin``.  NaN without a standard error.

    >>> round(equivalence_p(0.0, Spread(0.01, 50.0, 0.0, 3.0, 51), 0.02), 4)
    0.0255
    """
    return max(not_worse_p(delta, spread, margin), not_worse_p(-delta, spread, margin))


def not_worse_p(gain: float, spread: Spread, margin: float) -> float:
    """The p of the one-sided t test that a gain is at most −``margin``: not worse by more than the margin if small.

    NaN without a standard error.
    """
    from scipy.special import stdtr

    if not spread.error > 0:
        return math.nan
    return float(stdtr(spread.freedom, -(gain + margin) / spread.error))
