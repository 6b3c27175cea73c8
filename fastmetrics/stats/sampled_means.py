"""Means over all rows from a score that few of them have, drawn with known probabilities and predicted for all.

Rows i = 1 … N have a prediction fᵢ, those drawn with the probability πᵢ a score yᵢ.  With the weights w = 1/π, the
weighted means ȳ and f̄ of the drawn rows, and z = y − ȳ, a row stands for vᵢ = ȳ + λ(fᵢ − f̄) + wᵢ(zᵢ − λ(fᵢ − f̄)), where
the last term is 0 for a row that was not drawn.  The mean of v is the estimate (prediction-powered, Angelopoulos,
Duchi and Zrnic 2023; a generalised difference estimator, Särndal 1992), its spread over rows or clusters that of
the estimate as of any mean of scores: it holds what a sample of questions leaves open, and what the drawing of rows
adds.  λ = Σ w(w − 1)·z·(f − f̄) / Σ w(w − 1)·(f − f̄)² over the drawn rows makes the latter least, from 0 to 1.  A drawn
row without a score has z = 0, and deviations are divided by the weighted share of the rows with one: the mean is that
of the rows that would have a score, as elsewhere.  A score that all rows have is its own v.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.notes import Note
from fastmetrics.stats.estimates import Bounds, Interval, Sample, Spread
from fastmetrics.stats.mean_interval import bootstrap_interval, level_note, mean_interval, shape_note, spread_interval
from fastmetrics.stats.sums import exact_mean

_FEW_OF_A_KIND, _FEW_FOR_ENDS = 10, 15
"""Numbers of labels of 0 or of 1 below which the interval has a note, and is made wider."""


def stand_ins(values: Floats, shares: Floats, predicted: Floats) -> Floats:
    """What each row stands for: scores, NaN without; the probability of drawn rows, NaN of others; predictions of all.

    >>> found = stand_ins(np.array([1.0, 0.0, np.nan, np.nan]), np.array([0.5, 0.5, np.nan, np.nan]), np.zeros(4))
    >>> float(found.mean())
    0.5

    NaN if no drawn row has a score.
    """
    drawn = ~np.isnan(shares)
    weights, scores = 1 / shares[drawn], values[drawn]
    has = ~np.isnan(scores)
    if not has.any():
        return np.full(len(values), np.nan)
    total, scored = math.fsum(weights), math.fsum(weights[has])
    mean = math.fsum((weights * scores)[has]) / scored
    off = np.where(has, scores - mean, 0.0)
    ahead = predicted - math.fsum(weights * predicted[drawn]) / total
    own = ahead[drawn]
    weighted = weights * (weights - 1)
    squares = math.fsum(weighted * own * own)
    lam = min(max(math.fsum(weighted * off * own) / squares, 0.0), 1.0) if squares > 0 else 0.0
    stands = lam * ahead
    stands[drawn] += weights * (off - lam * own)
    return mean + stands * (total / scored)


@dataclass(frozen=True)
class SampledMean:
    """The mean of what rows stand for, or of the difference of what they stand for in two runs."""

    stands: Floats
    shares: Floats
    """The probability of each drawn row; NaN for others."""
    plain: Sample
    """The scores, or differences, of the drawn rows, as a random sample would have them."""
    weights: Floats
    """The weights of these."""
    clusters: Ints | None = None

    @classmethod
    def of(
        cls, values: Floats, shares: Floats, predicted: Floats, clusters: Ints | None, bounds: Bounds | None
    ) -> SampledMean:
        """The mean of a column."""
        has = ~np.isnan(shares) & ~np.isnan(values)
        return cls(
            stand_ins(values, shares, predicted),
            shares,
            Sample.of(values[has], None, bounds),
            1 / shares[has],
            clusters,
        )

    @property
    def value(self) -> float:
        """The estimate; NaN if no drawn row has a score."""
        return exact_mean(self.stands) if self.plain.n else math.nan

    @property
    def n(self) -> int:
        """The drawn rows with a score, in both runs of a difference."""
        return self.plain.n

    @property
    def n_drawn(self) -> int:
        """The drawn rows."""
        return int((~np.isnan(self.shares)).sum())

    @property
    def n_failed(self) -> int:
        """The drawn rows without a score."""
        return self.n_drawn - self.n

    def note(self, name: str) -> str:
        """How many rows the estimate is from, and how many random ones would give an interval as wide."""
        many = self.n_random()
        random = "" if math.isnan(many) else Note("as_many", n=round(many))
        failed = Note("drawn_unscored", n=self.n_failed) if self.n_failed else ""
        return Note("from_drawn", name=name, n=self.n, rows=len(self.stands), random=random, failed=failed)

    @cached_property
    def n_clusters(self) -> int | None:
        """The number of clusters of all rows."""
        return None if self.clusters is None else len(np.unique(self.clusters))

    @cached_property
    def spread(self) -> Spread:
        """The precision of the estimate: degrees of freedom by Satterthwaite, from rows of one probability each."""
        if self.n < 2:
            return Spread(math.nan, math.nan, 0.0, 3.0, self.n)
        off, shares, count = self.stands - self.value, np.nan_to_num(self.shares, nan=2.0), self.n
        if self.clusters is not None:
            _, numbers = np.unique(self.clusters, return_inverse=True)
            least = np.full(int(numbers.max()) + 1, 2.0)
            np.minimum.at(least, numbers, shares)
            off, shares, count = np.bincount(numbers, off).astype(np.float64), least, len(least)
        squares = off * off
        total, groups = math.fsum(squares), np.unique(shares, return_inverse=True)[1]
        parts, counts = np.bincount(groups, squares), np.maximum(np.bincount(groups) - 1.0, 1.0)
        freedom = total**2 / float((parts**2 / counts).sum()) if total else count - 1.0
        error = math.sqrt(total * count / max(count - 2, 1)) / len(self.stands)
        skew = math.fsum(squares * off) / total**1.5 if total else 0.0
        kurtosis = self.n * math.fsum(squares**2) / total**2 if total else 3.0
        return Spread(error, freedom, skew, kurtosis, self.n)

    @property
    def deviation(self) -> float:
        """The standard deviation of the scores of all rows, as estimated from the drawn ones; NaN without any."""
        if not self.n:
            return math.nan
        shares = self.weights / math.fsum(self.weights)
        mean = math.fsum(shares * self.plain.values)
        return math.sqrt(math.fsum(shares * (self.plain.values - mean) ** 2))

    def n_random(self) -> float:
        """How many rows drawn at random would give the same standard error; NaN without one."""
        error = self.spread.error
        return self.deviation**2 * self.n / (self.n - 1) / error**2 if error > 0 else math.nan

    def interval(self, confidence: float, kind: str = "auto", **drawn: Any) -> Interval:
        """Student's t, widened for skewness; of flags with half a row more at each end of what a row may deviate.

        It is that of the drawn rows alone, for as many as the smallest probability is worth, if all of them agree.
        """
        if self.n < 2 or len(self.stands) < 2:
            return Interval(
                math.nan,
                math.nan,
                "none",
                Note("not_sampled") if self.n == 0 else Note("no_spread", least=2, what="rows"),
            )
        if self.plain.agree:
            few = max(1, int(self.n * min(1.0, len(self.stands) / self.n / float(self.weights.max()))))
            return mean_interval(Sample.of(self.plain.values[:few], None, self.plain.bounds), confidence)
        if kind == "percentile":
            low, high = bootstrap_interval(Sample.of(self.stands, self.clusters), confidence, **drawn)
            found = Interval(low, high, kind)
        else:
            few = self.plain.kind == "flags" and self.n_rarer < _FEW_FOR_ENDS
            middle, spread = self._with_ends(self.spread) if few else (self.value, self.spread)
            found = spread_interval(middle, spread, confidence, kind)
        low, high = (-math.inf, math.inf) if self.plain.bounds is None else self.plain.bounds
        note = level_note(found.kind, self.spread.freedom, self.n) or shape_note(self.plain)
        if self.plain.kind == "flags" and self.n_rarer < _FEW_OF_A_KIND:
            note = Note("few_labels_of_a_kind")
        return replace(
            found, low=max(min(found.low, self.value), low), high=min(max(found.high, self.value), high), note=note
        )

    @property
    def n_rarer(self) -> float:
        """Of drawn flags, how many are of the rarer kind."""
        return min(hits := float(self.plain.values.sum()), self.n - hits)

    def _with_ends(self, spread: Spread) -> tuple[float, Spread]:
        """The middle and the precision with half a row at each end of what the score of a row may add (Bonett 2012)."""
        known = self.stands[np.isnan(self.shares)]
        if not len(known):
            return self.value, spread
        ends = np.array([-min(float(known.max()), 1.0), 1 - max(float(known.min()), 0.0)])
        size = float(self.weights.mean()) / len(self.stands)
        squares = spread.error**2 + float((ends**2).sum()) / 2 * size**2
        cubes = spread.skew * spread.error**3 + float((ends**3).sum()) / 2 * size**3
        middle = self.value + float(ends.sum()) / 2 / (self.n + 1)
        return middle, replace(spread, error=math.sqrt(squares), skew=cubes / squares**1.5)
