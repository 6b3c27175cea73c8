"""The disagreements of which Krippendorff's alpha consists, and its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.kernels.exact_sums import squared_ratios
from fastmetrics.stats.agreement.agreement_intervals import agreement_interval
from fastmetrics.stats.agreement.ratings import Ratings
from fastmetrics.stats.intervals.estimates import Interval

_SEVERAL = 1_000
"""Number of distinct amounts up to which the ratio alpha has an interval."""


@dataclass(frozen=True)
class AlphaParts:
    """The disagreements of which alpha consists: α = 1 − (n − 1)·Σ within/(size − 1) / between, for n ratings."""

    units: Ints
    """The unit of each rating."""
    within: Floats
    """The sum of the distances of the ordered pairs of ratings of each unit."""
    between: float
    """The sum of the distances of all ordered pairs of ratings."""
    crossed: Floats | None
    """The sum of the distances of each rating from all ratings; None if they are too many."""
    farthest: float
    """The greatest distance of two ratings."""

    @property
    def value(self) -> float:
        """Alpha."""
        return 1.0 - (len(self.units) - 1) * float((self.within / (np.bincount(self.units) - 1)).sum()) / self.between

    def interval(self, confidence: float) -> Interval:
        """The interval of alpha, from the influence of each unit on the logarithm of 1 − α."""
        if self.crossed is None:
            return Interval(math.nan, math.nan, "none", "no interval: too many distinct amounts")
        sizes, n = np.bincount(self.units), len(self.units)
        own = self.within / (sizes - 1)
        total, value = float(own.sum()), self.value
        moved = np.bincount(self.units, self.crossed) * 2 / self.between
        influence = (value - 1) * len(sizes) * (sizes / n + (own / total if total else 0.0) - moved)
        return agreement_interval(value, influence, self.farthest * n * (n - 1) / self.between, confidence)


def alpha_parts(ratings: Ratings, level: str, crossed: bool = False) -> AlphaParts | None:
    """The disagreements of the units with two ratings or more, with those that only intervals need if ``crossed``.

    None without two different ratings.
    """
    codes = ratings.codes[(ratings.codes >= 0).sum(axis=1) >= 2]
    units, raters = np.nonzero(codes >= 0)
    used, flat = np.unique(codes[units, raters], return_inverse=True)
    if len(used) < 2:
        return None
    sizes, n = np.bincount(units).astype(np.float64), len(flat)
    counts = np.bincount(flat).astype(np.float64)
    apart: NDArray[np.float64] | None
    if level in ("nominal", "ratio"):
        cells, occur = np.unique(units * len(used) + flat, return_counts=True)
        owners, times = cells // len(used), occur.astype(np.float64)
    if level == "nominal":
        within = sizes**2 - np.bincount(owners, times**2)
        between = float(n) ** 2 - float((counts**2).sum())
        return AlphaParts(units, within, between, n - counts[flat], 1.0)
    if level == "ratio" and ratings.values is not None:
        amounts = ratings.values[used] / ratings.values[used].max()
        within = _ratios(owners, amounts[cells % len(used)], times)
        between = float(_ratios(np.zeros(len(used), np.int64), amounts, counts)[0])
        apart = _ratio_sums(amounts, counts)[flat] if crossed and len(used) <= _SEVERAL else None
        return AlphaParts(
            units, within, between, apart, float(((amounts[-1] - amounts[0]) / (amounts[-1] + amounts[0])) ** 2)
        )
    ranks = np.cumsum(counts) - counts / 2  # their difference is the ordinal distance
    scale = ranks if level == "ordinal" or ratings.values is None else ratings.values[used]
    rated = (scale - scale @ counts / n)[flat]
    within = 2 * (sizes * np.bincount(units, rated**2) - np.bincount(units, rated) ** 2)
    between = 2 * (n * float((rated**2).sum()) - float(rated.sum()) ** 2)
    return AlphaParts(units, within, between, n * rated**2 + float((rated**2).sum()), float(np.ptp(scale)) ** 2)


def _ratio_sums(amounts: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of the distances of each amount from all ratings."""
    both = amounts[:, None] + amounts
    apart = np.divide(amounts[:, None] - amounts, both, out=np.zeros_like(both), where=both > 0)
    sums: NDArray[np.float64] = apart**2 @ counts
    return sums


def _ratios(groups: NDArray[np.int64], amounts: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Twice the disagreement of the pairs in each group of equal amounts."""
    starts = np.append(0, np.cumsum(np.bincount(groups))).astype(np.int64)
    sums = np.empty(len(starts) - 1)
    squared_ratios(starts, amounts, times, sums)
    return sums
