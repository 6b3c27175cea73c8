"""Estimates with their confidence intervals, and the values whose mean is estimated: of rows, pairs or clusters.

Values are rounded to integer multiples of 2⁻⁵⁶ times the sum of their absolute values, so their sums are exact in any
order, and equal sums compare as equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.stats.sums import exact_mean, exact_sum


@dataclass(frozen=True)
class Interval:
    """A confidence interval; NaN if there is none."""

    low: float
    high: float
    kind: str
    """The method, a key of :data:`fastmetrics.base.notes.NAMES`."""
    note: str | None = None
    """Why the interval may hold another level than it states, or why there is none."""
    skew: float = 0.0
    """Of a t interval: the skewness of the values divided by the root of their number."""


@dataclass(frozen=True)
class Estimate:
    """A figure and its confidence interval; NaN if undefined."""

    value: float
    low: float
    high: float
    interval: str = "none"
    """The kind of interval: a key of :data:`fastmetrics.base.notes.NAMES`."""
    note: str | None = None
    """Why the interval may hold another level, or why there is none."""

    @classmethod
    def of(cls, value: float, interval: Interval) -> Estimate:
        """A figure with this interval; without one if the figure is undefined."""
        if math.isnan(value):
            return UNDEFINED
        return cls(value, interval.low, interval.high, interval.kind, interval.note)


UNDEFINED = Estimate(math.nan, math.nan, math.nan)
"""A figure that the data do not define."""


def as_share(estimate: Estimate) -> Estimate:
    """A figure from 0 to 1, such as AUC, from twice the figure, less 1."""
    return replace(estimate, value=(1 + estimate.value) / 2, low=(1 + estimate.low) / 2, high=(1 + estimate.high) / 2)


Kind: TypeAlias = Literal["numbers", "open-ended", "flags", "differences", "flag differences", "pseudo-values"]
Bounds: TypeAlias = tuple[float, float]

_BITS = 56
_FLAGS: Bounds = (0.0, 1.0)
ROUNDING = 2.0**-51
"""The relative error of a difference of two numbers that are themselves rounded to float64."""
_MOST_DECIMALS = 300


@dataclass(frozen=True)
class Spread:
    """The precision of a mean, from the residuals of rows or clusters."""

    error: float
    """The standard error; NaN for fewer than two rows or clusters."""
    freedom: float
    """The degrees of freedom of the standard error."""
    skew: float
    """Σe³ / (Σe²)^1.5 of the residuals e: the skewness divided by the root of their number; 0 without spread."""
    kurtosis: float
    """The fourth standardised moment of the residuals."""
    count: int
    """The number of rows or clusters; of a sum, that of the part with fewer."""

    def plus(self, other: Spread, sign: int = 1) -> Spread:
        """The precision of the sum (of the difference, with ``sign`` -1) of two independent estimates.

        Variances and third moments add up; the degrees of freedom are those of Welch and Satterthwaite.
        """
        error = math.hypot(self.error, other.error)
        count = min(self.count, other.count)
        if not error > 0:
            freedom = self.freedom + other.freedom if error == 0 else math.nan
            return Spread(error, freedom, 0.0, 3.0, count)
        own_share, other_share = (spread.error / error for spread in (self, other))
        freedom = 1 / (own_share**4 / self.freedom + other_share**4 / other.freedom)
        skew = self.skew * own_share**3 + sign * other.skew * other_share**3
        return Spread(error, freedom, skew, self.kurtosis * own_share**2 + other.kurtosis * other_share**2, count)

    def corrected(self, factor: float, freedom: float) -> Spread:
        """The precision with the error times a factor and other degrees of freedom."""
        return replace(self, error=factor * self.error, freedom=freedom)

    def times(self, factor: float) -> Spread:
        """The precision of the estimate times a factor."""
        return replace(self, error=abs(factor) * self.error, skew=math.copysign(1.0, factor) * self.skew)


@dataclass(frozen=True)
class Sample:
    """Finite values of rows, summed within clusters if there are any.

    ``totals`` are the values, or the sums of the clusters, and ``units`` the same as integers in units of 1/``scale``;
    ``sizes`` are the clusters' numbers of rows.  ``bounds`` are the smallest and the largest possible value, if known.
    """

    values: Floats
    totals: Floats
    units: Ints
    scale: float
    sizes: Ints | None
    kind: Kind
    bounds: Bounds | None
    constant: bool
    """Whether the values of all rows are equal, up to the rounding of the scores."""
    agree: bool
    """Whether the means of all clusters are equal, up to the rounding of the scores; without clusters, ``constant``."""
    error: float
    """The largest error of a value by the rounding of the scores."""

    @classmethod
    def of(cls, values: Floats, clusters: Ints | None = None, bounds: Bounds | None = None) -> Sample:
        """From finite scores, with the cluster of each row, numbered in any way, and the bounds of the metric."""
        return cls._of(values, clusters, *_kind(values, None, bounds), ROUNDING * np.abs(values))

    @classmethod
    def between(
        cls,
        first: Floats,
        second: Floats,
        clusters: Ints | None = None,
        bounds: Bounds | None = None,
        rounding: float = ROUNDING,
        times: float = 1.0,
    ) -> Sample:
        """From the finite scores of two systems: the differences ``second - times * first``.

        ``rounding`` is the relative error of the scores, larger if they come from a narrower type.
        """
        kind, limits = _kind(first, second, bounds)
        if times != 1:
            first, kind = times * first, "differences"
            ends = (times * bound for bound in bounds or (-math.inf, math.inf))
            limits = None if limits is None or bounds is None else apart(sorted(ends), bounds)
        error = rounding * np.maximum(np.abs(first), np.abs(second))
        return cls._of(second - first, clusters, kind, limits, error)

    @classmethod
    def linearised(
        cls, value: float, without: Floats, sizes: Ints | None = None, bounds: Bounds | None = None
    ) -> Sample:
        """From a figure that is no mean: its values ``without`` each row or each cluster of these sizes (jackknife).

        v + (v − vₖ)·(N − mₖ)/mₖ, of which a mean over rows is close to v; for v a mean, it is the row's own value.  The
        bounds are those of the figure: pseudo-values may lie beyond them.
        """
        rows = np.ones(len(without), np.int64) if sizes is None else sizes
        own = value + (value - without) * (rows.sum() - rows) / rows
        clusters = None if sizes is None else np.repeat(np.arange(len(sizes)), sizes)
        error = np.repeat(ROUNDING * abs(own), rows)
        return cls._of(np.repeat(own, rows), clusters, "pseudo-values", bounds, error)

    @classmethod
    def _of(cls, values: Floats, clusters: Ints | None, kind: Kind, bounds: Bounds | None, error: Floats) -> Sample:
        same, largest = _equal(values, error), float(error.max(initial=0.0))
        if clusters is None:
            units, scale = whole(values)
            return cls(values, values, units, scale, None, kind, bounds, same, same, largest)
        _, numbers = np.unique(clusters, return_inverse=True)
        sizes = np.bincount(numbers)
        sums = np.array([math.fsum(some) for some in _grouped(values, numbers, sizes)][: len(sizes)], np.float64)
        units, scale = whole(sums)
        errors = np.bincount(numbers, error)
        agree = _equal(sums / sizes, errors / sizes)
        return cls(values, sums, units, scale, sizes, kind, bounds, same, agree, largest)

    def ordered(self) -> Sample:
        """The sample in an order that does not depend on that of its rows, for draws by position."""
        order = np.lexsort((self.units if self.sizes is None else self.sizes, self.totals))
        sizes = None if self.sizes is None else self.sizes[order]
        return replace(self, totals=self.totals[order], units=self.units[order], sizes=sizes)

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.values)

    @cached_property
    def mean(self) -> float:
        """The mean, rounded once; NaN without rows."""
        return exact_mean(self.values)

    @cached_property
    def rounded(self) -> Floats:
        """The values without the noise of rounding: to the decimals that the scores carry."""
        return without_noise(self.values, self.error)

    @cached_property
    def unlike(self) -> int:
        """The number of rows that differ from the most frequent value, if most rows have it."""
        return int((self.rounded != np.median(self.rounded)).sum())

    @cached_property
    def groups(self) -> tuple[Floats, Floats, Ints]:
        """The distinct rows or clusters, but for rounding: their sums, their sizes, and how many there are of each."""
        if self.sizes is None:
            values, counts = np.unique(self.rounded, return_counts=True)
            return values, np.ones(len(values)), counts
        pairs = np.stack([without_noise(self.totals, self.error), self.sizes.astype(np.float64)])
        units, counts = np.unique(pairs, axis=1, return_counts=True)
        return units[0], units[1], counts

    @property
    def residuals(self) -> tuple[Floats, int]:
        """The deviations from the mean, of a cluster the sum of its rows' deviations, as multiples of a power of two.

        The power, of which the exponent is returned too, is near the largest value, so that squares neither overflow
        nor vanish.
        """
        sizes = 1 if self.sizes is None else self.sizes
        exponent = math.frexp(float(np.abs(self.totals).max(initial=0.0)))[1]
        return np.ldexp(self.totals, -exponent) - sizes * math.ldexp(self.mean, -exponent), exponent

    @cached_property
    def spread(self) -> Spread:
        """The standard error of the mean, its degrees of freedom, and the shape of the residuals.

        With h the share of the rows in a cluster (1/n without clusters) and e its residual, s² = Σ e²/(1 − h)/n²: the
        estimate CR2 of Bell and McCaffrey 2002, s/√n for rows.  The degrees of freedom are the geometric mean of
        Satterthwaite's for independent rows and for rows that are equal within each cluster: n − 1 for rows.
        """
        count = len(self.units)
        if count < 2:
            return Spread(math.nan, math.nan, 0.0, 3.0, count)
        if self.agree:
            return Spread(0.0, self._freedom, 0.0, 3.0, count)
        e, exponent = self.residuals
        shares = 1 / count if self.sizes is None else self.sizes / self.n
        squares = e * e
        error = math.sqrt(exact_sum(squares / (1 - shares))) / self.n
        total = exact_sum(squares)
        skew = exact_sum(squares * e) / total**1.5
        kurtosis = count * exact_sum(squares**2) / total**2
        return Spread(math.ldexp(error, exponent), self._freedom, skew, kurtosis, count)

    @property
    def _freedom(self) -> float:
        return float(len(self.units) - 1) if self.sizes is None else _freedom(self.sizes / self.n)


def _kind(first: Floats, second: Floats | None, bounds: Bounds | None) -> tuple[Kind, Bounds | None]:
    """The kind of values, and their bounds; scores of 0 and 1 are flags if these are declared to be their bounds.

    A sample cannot tell: of the numbers of retries 0, 1 and 50, most samples hold 0 and 1 alone.  Nor can it tell how
    large the rare values are that it lacks: amounts of one sign without any declared bound are open-ended.
    """
    limits = bounds if bounds is not None and all(map(math.isfinite, bounds)) else None
    both = [first] if second is None else [first, second]
    flags = bounds == _FLAGS and all(bool(((values == 0) | (values == 1)).all()) for values in both)
    if second is not None:
        return "flag differences" if flags else "differences", None if limits is None else between(limits)
    open_ended = bounds is None and bool((first >= 0).all() or (first <= 0).all())
    return "flags" if flags else "open-ended" if open_ended else "numbers", limits


def between(bounds: Bounds) -> Bounds:
    """The bounds of a difference of two values with these bounds."""
    return apart(bounds, bounds)


def apart(first: Sequence[float], second: Sequence[float]) -> Bounds:
    """The bounds of the difference of a second value from a first one, from those of both."""
    return second[0] - first[1], second[1] - first[0]


def _equal(values: Floats, error: Floats) -> bool:
    """Whether one number is within the error of every value."""
    return bool(len(values)) and float((values - error).max()) <= float((values + error).min())


def _freedom(shares: Floats) -> float:
    """Satterthwaite's degrees of freedom: the geometric mean for independent and for equal rows in a cluster."""
    if shares.min() == shares.max():
        return float(len(shares) - 1)
    weights, squares = 1 / (1 - shares), shares**2
    joint = squares * weights
    independent = 1 / (squares.sum() + joint.sum() ** 2 - (joint**2).sum())
    total = squares.sum()
    own = squares - 2 * shares * squares + squares * total  # the variances of the residuals
    cross = own - squares
    sums = {power: float((weights * shares**power).sum()) for power in (2, 3, 4)}
    pairs = 2 * sums[2] * sums[4] + (sums[2] * total) ** 2 + 2 * sums[3] ** 2 - 4 * sums[2] * sums[3] * total
    trace = pairs + (weights**2 * (own**2 - cross**2)).sum()
    equal = (weights * own).sum() ** 2 / trace
    return float(math.sqrt(independent * min(independent, equal)))


def whole(values: NDArray[np.float64]) -> tuple[Ints, float]:
    """Numbers as integer multiples of 1/scale, where scale is the power of 2 that keeps Σ|value| below 2⁵⁶."""
    size = exact_sum(np.abs(values).ravel())
    if size == 0:
        return np.zeros(values.shape, np.int64), 1.0
    exponent = min(_BITS - math.frexp(size)[1], 1000)
    return np.rint(np.ldexp(values, exponent)).astype(np.int64), math.ldexp(1.0, exponent)


def without_noise(values: Floats, error: float) -> Floats:
    """The values rounded to the decimals that an error of this size leaves."""
    if not error > 0:
        return values
    return np.round(values, min(-1 - math.ceil(math.log10(error)), _MOST_DECIMALS)) + 0.0


def _grouped(values: Floats, numbers: Ints, sizes: Ints) -> list[Floats]:
    order = np.argsort(numbers, kind="stable")
    return np.split(values[order], np.cumsum(sizes)[:-1])
