"""Paired tests and intervals for the mean difference between two systems.

Differences are rounded to integer multiples of 2⁻⁵⁶ times the sum of their absolute values, so their sums are exact in
any order, and equal sums compare as equal.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.core.threads import cores, ordered
from fastmetrics.kernels.stats.resampled_sums import resampled_clusters, resampled_sums
from fastmetrics.kernels.stats.sign_flips import flipped_sums
from fastmetrics.stats.moments import exact_sum

TESTS = ("fisher", "t", "mcnemar", "wilcoxon")
"""The tests for a pair of systems."""

_BITS = 56
_EXACT = 20
"""Up to this number of rows (or clusters), all sign patterns are enumerated."""
_RESAMPLES_AT_ONCE = 256
_ALONE = 1 << 22
"""Up to this number of cells times resamples, one thread is faster than several."""


@dataclass(frozen=True)
class Differences:
    """The differences of paired scores, summed within clusters if there are any.

    ``units`` are the sums of the clusters as integers, in units of 1/``scale``; ``sizes`` are their numbers of rows.
    """

    values: Floats
    units: Ints
    scale: float
    sizes: Ints | None

    @classmethod
    def of(cls, values: Floats, clusters: Ints | None = None) -> Differences:
        """From finite differences, with the cluster of each row, numbered in any way."""
        sizes, sums = None, values
        if clusters is not None:
            _, numbers = np.unique(clusters, return_inverse=True)
            sizes = np.bincount(numbers)
            sums = np.array([math.fsum(some) for some in _grouped(values, numbers, sizes)])
        units, scale = whole(sums)
        return cls(values, units, scale, sizes)

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.values)

    @property
    def mean(self) -> float:
        """The mean difference, rounded once; NaN without rows."""
        return exact_sum(self.values) / self.n if self.n else math.nan

    @property
    def standard_error(self) -> float:
        """The standard error of the mean: s/√n, or for clusters √(C/(C−1)·Σ(Sₖ − mₖ·Δ)²)/n; NaN for one of them."""
        count = len(self.units)
        if count < 2:
            return math.nan
        sizes = np.ones(count) if self.sizes is None else self.sizes
        residuals = self.units / self.scale - sizes * self.mean
        return math.sqrt(count / (count - 1) * exact_sum(residuals * residuals)) / self.n


def whole(values: NDArray[np.float64]) -> tuple[Ints, float]:
    """Numbers as integer multiples of 1/scale, where scale is the power of 2 that keeps Σ|value| below 2⁵⁶."""
    size = exact_sum(np.abs(values).ravel())
    if size == 0:
        return np.zeros(values.shape, np.int64), 1.0
    exponent = min(_BITS - math.frexp(size)[1], 1000)
    return np.rint(np.ldexp(values, exponent)).astype(np.int64), math.ldexp(1.0, exponent)


def _grouped(values: Floats, numbers: Ints, sizes: Ints) -> list[Floats]:
    order = np.argsort(numbers, kind="stable")
    return np.split(values[order], np.cumsum(sizes)[:-1])


def effect_size(values: Floats) -> float:
    """d_z, the mean of the differences divided by their standard deviation (ddof = 1); NaN if that is 0."""
    if len(values) < 2 or np.ptp(values) == 0:
        return math.nan
    mean = exact_sum(values) / len(values)
    deviation = math.sqrt(exact_sum((values - mean) ** 2) / (len(values) - 1))
    return mean / deviation


def detectable(differences: Differences, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference that this many rows of this spread detect with probability ``power``.

    (t₁₋α/₂ + t_power)·s/√n, for a two-sided test at level ``alpha``; NaN for fewer than 2 rows or clusters.
    """
    from scipy.special import stdtrit

    freedom = len(differences.units) - 1
    if freedom < 1:
        return math.nan
    return float((stdtrit(freedom, 1 - alpha / 2) + stdtrit(freedom, power)) * differences.standard_error)


def p_value(test: str, differences: Differences, resamples: int, seed: int, threads: int | None) -> float:
    """The two-sided p of one of ``TESTS``; NaN without rows."""
    if differences.n == 0:
        return math.nan
    if test == "fisher":
        return randomisation_p(differences, resamples, seed, threads)
    return {"t": t_p, "mcnemar": mcnemar_p, "wilcoxon": wilcoxon_p}[test](differences)


def randomisation_p(differences: Differences, resamples: int, seed: int, threads: int | None) -> float:
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
    found = drawn(partial(flipped_sums, units), len(units), resamples, seed, threads)
    return (1 + int((np.abs(found) >= reached).sum())) / (1 + resamples)


def t_p(differences: Differences) -> float:
    """The paired t-test; for clusters with the linearised standard error.  1 if all differences are 0."""
    from scipy.special import stdtr

    error = differences.standard_error
    if math.isnan(error):
        return math.nan
    if error == 0:
        return 1.0 if differences.mean == 0 else 0.0
    return float(2 * stdtr(len(differences.units) - 1, -abs(differences.mean / error)))


def mcnemar_p(differences: Differences) -> float:
    """McNemar's exact test for scores of 0 and 1: a binomial test over the differing rows; 1 without any."""
    from scipy.special import bdtr

    wins, losses = int((differences.values > 0).sum()), int((differences.values < 0).sum())
    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5))) if wins + losses else 1.0


def wilcoxon_p(differences: Differences) -> float:
    """Wilcoxon's signed-rank test as in SciPy (without zeros); 1 if all differences are 0."""
    from scipy.stats import wilcoxon

    values = differences.values[differences.values != 0]
    return float(wilcoxon(values).pvalue) if len(values) else 1.0


def bootstrap_interval(
    differences: Differences, confidence: float, resamples: int, seed: int, threads: int | None, bca: bool = False
) -> tuple[float, float]:
    """The bootstrap interval of the mean difference over rows (or clusters): percentile or BCa.

    BCa (Efron 1987) corrects the percentiles for bias and skewness.  NaN for fewer than 2 rows or clusters.
    """
    units = differences.units
    if len(units) < 2:
        return math.nan, math.nan
    if differences.sizes is None:
        sums = drawn(partial(resampled_sums, units), len(units), resamples, seed, threads)
        means = sums / (differences.scale * len(units))
    else:
        means = _clustered(differences, differences.sizes, resamples, seed, threads)
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if bca:
        tails = _corrected(tails, differences, means)
    low, high = np.quantile(means, tails) + _rounding(differences)
    return float(low), float(high)


def t_interval(differences: Differences, confidence: float) -> tuple[float, float]:
    """The interval of the mean difference by Student's t: mean ± t·s/√n; NaN for fewer than 2 rows or clusters."""
    from scipy.special import stdtrit

    freedom = len(differences.units) - 1
    if freedom < 1:
        return math.nan, math.nan
    reach = float(stdtrit(freedom, (1 + confidence) / 2)) * differences.standard_error
    return differences.mean - reach, differences.mean + reach


def _rounding(differences: Differences) -> float:
    """The rounding error of the mean from converting the differences to integers."""
    return differences.mean - float(differences.units.sum() / (differences.scale * differences.n))


def _clustered(differences: Differences, sizes: Ints, resamples: int, seed: int, threads: int | None) -> Floats:
    rows = np.empty(resamples, np.int64)

    def draw(key: np.uint64, first: int, out: Ints) -> None:
        resampled_clusters(differences.units, sizes, key, first, out, rows[first : first + len(out)])

    sums = drawn(draw, len(sizes), resamples, seed, threads)
    means: Floats = sums / (differences.scale * rows)
    return means


def _corrected(tails: Floats, differences: Differences, means: Floats) -> Floats:
    """The tails of BCa: shifted by the share of resamples below the mean, and by the skewness of the differences."""
    sizes = np.ones(len(differences.units)) if differences.sizes is None else differences.sizes
    residuals = differences.units / differences.scale - sizes * differences.mean
    squares = math.fsum(residuals**2)
    skew = math.fsum(residuals**3) / (6 * squares**1.5) if squares else 0.0
    return shifted_tails(tails, means, differences.mean, skew)


def shifted_tails(tails: Floats, resampled: Floats, value: float, skew: float) -> Floats:
    """The tails of BCa: shifted by the share of resampled values below the ``value``, and by a sixth of the skew."""
    normal = NormalDist()
    below = float((np.sum(resampled < value) + 0.5 * np.sum(resampled == value)) / len(resampled))
    if not 0 < below < 1:
        return tails
    bias = normal.inv_cdf(below)
    shifted = [bias + normal.inv_cdf(tail) for tail in tails]
    return np.array([normal.cdf(bias + one / (1 - skew * one)) for one in shifted])


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
