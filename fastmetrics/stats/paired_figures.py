"""Figures that are no means, such as correlations, AUC, κ and α, and the one way to their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.notes import Note
from fastmetrics.kernels.exact_sums import concordance
from fastmetrics.stats.estimates import Estimate, Interval, Sample
from fastmetrics.stats.mean_interval import FEWER, LEAST_CLUSTERS, LEAST_ROWS
from fastmetrics.stats.sums import exact_sum

# The interval of a figure, from how much each row adds to it.
#
# The influence ψ of a row is the derivative of the figure with respect to the row's weight, times the sum of the
# weights; it adds up to 0.  Its spread gives the standard error of the figure (the delta method), as the residuals do
# for a mean.  Two things make that hold for rare classes and for figures near ±1 too (the simulation is in
# docs/judges.md):
#
# - One more row, spread over all combinations of values, takes part in the interval.  Two raters who name 6 of 60
#   units each, and never the same one, are so not taken for raters who cannot name the same one.
# - A variance that few rows carry is known only as well as that of few rows.  The sum of squares Σψ² varies like a χ²
#   with 2n/(k − 1) degrees of freedom, where k is the kurtosis of ψ; these are n for a normal ψ.


_LEAST = 4
"""With fewer rows or clusters, there is no interval."""
_LEAST_FREEDOM = (2.0, 8.0)
"""The fewest degrees of freedom, a + b·figure²: rare classes that agree by chance need fewer than near-perfect ones."""
_CELLS = 400
"""Up to so many combinations of values, the added row counts as a whole row; for more, in proportion to them."""
_POINTS = 1_000
"""At most so many combinations of values share the added row."""
_GOLDEN = (math.sqrt(5) - 1) / 2
_PERFECT = 1e-12


@dataclass(frozen=True, eq=False)
class Influence:
    """A figure between −1 and 1, and the influence of each row on it, with the row that was added."""

    value: float
    """The figure of all rows with the added one; NaN if undefined."""
    rows: Floats
    clusters: Ints | None
    added: Floats
    """The influence of each part of the added row."""
    weights: Floats
    """The weight of each part."""

    def interval(self, figure: float, confidence: float, *, wider: float = 1.0) -> Interval:
        """The interval of the ``figure`` of the rows alone: Student's t on Fisher's scale, artanh of the figure.

        ``wider`` is a factor of its standard error.
        """
        from scipy.special import stdtrit

        if math.isnan(figure):
            return UNKNOWN
        n, what = len(self.rows), "rows" if self.clusters is None else "clusters"
        spread = Sample.of(self.rows, self.clusters).spread
        if spread.count < _LEAST:
            return replace(UNKNOWN, note=Note("no_spread", least=_LEAST, what=what))
        if min(figure, self.value) < -1:
            return replace(UNKNOWN, note=Note("below_range"))
        of_rows, of_added = (spread.error * n) ** 2, exact_sum(self.weights * self.added**2)
        squares = of_rows + of_added
        slope = 1 - self.value**2
        if not squares > (1e-9 * n) ** 2 or not slope > _PERFECT:
            return replace(UNKNOWN, note=Note("agree_equally", what=what))
        fourth = spread.kurtosis * of_rows**2 / spread.count + exact_sum(self.weights * self.added**4)
        carried = 2 / max(fourth / squares**2 - 1 / spread.count, 1e-300)
        freedom = max(min(spread.freedom, carried), _LEAST_FREEDOM[0] + _LEAST_FREEDOM[1] * self.value**2)
        error = wider * math.sqrt(squares) / (n + exact_sum(self.weights)) / slope
        reach, middle = float(stdtrit(freedom, (1 + confidence) / 2)) * error, math.atanh(self.value)
        low, high = math.tanh(middle - reach), math.tanh(middle + reach)
        note = _note(spread.count, spread.freedom, freedom, clustered=self.clusters is not None)
        return Interval(min(low, figure), max(high, figure), "t", note)


UNKNOWN = Interval(math.nan, math.nan, "none")
"""The interval of a figure that has none."""


def _note(count: int, possible: float, freedom: float, *, clustered: bool) -> str | None:
    """Why the interval may not hold its level."""
    what, least = ("clusters", LEAST_CLUSTERS) if clustered else ("rows", LEAST_ROWS)
    if count < FEWER:
        return Note("too_few", least=FEWER, what=what)
    if count < least:
        return Note("few", least=least, what=what)
    if possible + 1 < least:
        return Note("uneven_clusters", least=least)
    return Note("few_decide_figure", what=what) if freedom + 1 < least else None


# Figures of pairs of values: correlations, AUC, Cohen's κ, and those of predicted and expected classes.


class _Classes(NamedTuple):
    """The classes of pairs: those of each row as numbers, and the shares of rows that have each."""

    x: Ints
    y: Ints
    same: Flags
    named: Floats
    """The share of rows whose x is the class."""
    asked: Floats
    """The share of rows whose y is the class."""
    hits: Floats
    """The share of rows of which both are the class."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows of two values, and the parts of the added row, whose values are independent of each other."""

    x: Floats
    y: Floats
    n: int
    """The number of rows; the parts of the added row follow them."""
    weight: float
    """The weight of each part of the added row."""
    order: Ints
    """The place of each row in the columns."""
    clusters: Ints | None
    """The clusters of the rows, in the order of the columns."""

    @classmethod
    def of(
        cls, x: Floats, y: Floats, clusters: Ints | None = None, *, one_scale: bool = False, added: float = 1.0
    ) -> Pairs:
        """From two columns; on ``one_scale``, a value that one column lacks may occur in it.

        ``added`` is the weight of the added row.
        """
        order = np.lexsort((y, x))
        x, y = x[order] + 0.0, y[order] + 0.0  # makes −0.0 equal to 0.0
        first, second = np.unique(x), np.unique(y)
        if one_scale:
            first = second = np.union1d(first, second)
        cells = len(first) * len(second)
        if cells <= _CELLS:
            parts_x, parts_y = np.repeat(first, len(second)), np.tile(second, len(first))
        else:  # an even scatter of points over the combinations
            place = np.arange(min(max(len(first), len(second)), _POINTS))
            parts_x = first[place * len(first) // len(place)]
            parts_y = second[((place * _GOLDEN + 0.5) % 1 * len(second)).astype(np.int64)]
        weight = added * min(1.0, _CELLS / cells) / len(parts_x) if cells else 0.0
        return cls(np.append(x, parts_x), np.append(y, parts_y), len(x), weight, order, clusters)

    @property
    def alone(self) -> Pairs:
        """The rows without the added one."""
        return replace(self, x=self.x[: self.n], y=self.y[: self.n], weight=0.0)

    @property
    def weights(self) -> Floats:
        """The weight of each row and part."""
        return np.append(np.ones(self.n), np.full(len(self.x) - self.n, self.weight))

    def _influence(self, value: float, influence: Floats) -> Influence:
        rows, added = np.empty(self.n), influence[self.n :]
        rows[self.order] = influence[: self.n]
        return Influence(value, rows, self.clusters, added, np.full(len(added), self.weight))

    def pearson(self) -> Influence:
        """Pearson's r: ψ = a·b − r·(a² + b²)/2 of the standardised values a and b."""
        weights = self.weights
        a, b = (_standard(values, weights) for values in (self.x, self.y))
        r = _clipped(_mean(a * b, weights))
        return self._influence(r, a * b - r * (a * a + b * b) / 2)

    def spearman(self) -> Influence:
        """Spearman's ρ, r of the ranks, whose ψ includes the change of the other rows' ranks.

        With u and v the ranks divided by the sum of the weights and centred, a row moves the covariance by u·v +
        mean(v of rows above it in x) + mean(u of rows above it in y), and the variances likewise; rows tied with it
        count half.
        """
        weights = self.weights
        above_x, above_y = _Above(self.x, weights), _Above(self.y, weights)
        u, v = above_x.ranks, above_y.ranks
        variance_u, variance_v = _mean(u * u, weights), _mean(v * v, weights)
        if not variance_u * variance_v > 0:
            return self._influence(math.nan, np.zeros(len(u)))
        scale = math.sqrt(variance_u * variance_v)
        rho = _clipped(_mean(u * v, weights) / scale)
        both = _centred(u * v + above_x.means(v) + above_y.means(u), weights)
        own_u = _centred(u * u + 2 * above_x.means(u), weights)
        own_v = _centred(v * v + 2 * above_y.means(v), weights)
        return self._influence(rho, both / scale - rho / 2 * (own_u / variance_u + own_v / variance_v))

    def auc(self, positive: float) -> Influence:
        """2·AUC − 1 of x for the rows whose y is at least ``positive``.

        ψ is twice the share of pairs that a row wins, minus AUC, divided by the share of its class (DeLong, DeLong and
        Clarke-Pearson 1988).
        """
        weights, good = self.weights, self.y >= positive
        above, total = _Above(self.x, weights), float(weights.sum())
        positives = float(weights[good].sum())
        others = total - positives
        if not positives > 0 or not others > 0:
            return self._influence(math.nan, np.zeros(len(good)))
        lower = others - total * above.means((~good).astype(np.float64))
        higher = total * above.means(good.astype(np.float64))
        wins = np.where(good, lower / others, higher / positives)
        auc = exact_sum(wins[good] * weights[good]) / positives
        return self._influence(2 * auc - 1, 2 * (wins - auc) * np.where(good, total / positives, total / others))

    def kendall(self) -> Influence:
        """Kendall's τ-b: ψᵢ = 2cᵢ/√(AB) − τ(aᵢ/A + bᵢ/B).

        cᵢ is the weight of concordant minus discordant rows of row i, and aᵢ and bᵢ are the weights of rows not tied
        with it in x and y, of means A and B; all are divided by the sum of the weights.
        """
        weights, n = self.weights, self.n
        total = float(weights.sum())
        c = _concordance(self.x, self.y).astype(np.float64)
        own, of_parts = _concordance(self.x[:n], self.y[:n]), _concordance(self.x[n:], self.y[n:])
        c[:n] = own + self.weight * (c[:n] - own)
        c[n:] = (c[n:] - of_parts) + self.weight * of_parts
        a, b = (1 - _tied(values, weights) / total for values in (self.x, self.y))
        mean_a, mean_b = _mean(a, weights), _mean(b, weights)
        if not mean_a * mean_b > 0:
            return self._influence(math.nan, np.zeros(len(c)))
        c, scale = c / total, math.sqrt(mean_a * mean_b)
        tau = _clipped(_mean(c, weights) / scale)
        return self._influence(tau, 2 * c / scale - tau * (a / mean_a + b / mean_b))

    def kappa(self, power: int) -> Influence:
        """Cohen's kappa, whose disagreements weigh |x − y|^``power``; ``power`` 0 is the unweighted kappa.

        With O and E the observed and the expected disagreement of κ = 1 − O/E, a unit of disagreement w and expected
        disagreement g (of its first rating with all second ones, plus of its second with all first ones) has ψ =
        (O·(g − 2E)/E − (w − O))/E.
        """
        weights, apart = self.weights, np.abs(self.x - self.y)
        if not len(apart):
            return self._influence(math.nan, apart)
        own = (apart > 0).astype(np.float64) if power == 0 else apart**power
        sides = (self.x, self.y), (self.y, self.x)
        crossed = [_distances(values, others, weights, power) for values, others in sides]
        observed, expected = _mean(own, weights), _mean(crossed[0], weights)
        if not expected > 0:
            return self._influence(math.nan, np.zeros(len(own)))
        influence = (observed * (crossed[0] + crossed[1] - 2 * expected) / expected - (own - observed)) / expected
        return self._influence(1 - observed / expected, influence)

    def f1(self, positive: float, cut: float) -> Influence:
        """2·F1 − 1 of the decision that x is at least ``cut``, for the rows whose y is at least ``positive``."""
        weights = self.weights
        decided, good = (self.x >= cut).astype(np.float64), (self.y >= positive).astype(np.float64)
        hits, named = _mean(decided * good, weights), decided + good
        size = _mean(named, weights)
        if not size > 0:
            return self._influence(math.nan, np.zeros(len(named)))
        f1 = 2 * hits / size
        return self._influence(2 * f1 - 1, 2 * (2 * decided * good - f1 * named) / size)

    def _classes(self) -> _Classes:
        weights, total = self.weights, float(self.weights.sum())
        codes = np.unique(np.concatenate([self.x, self.y]))
        x, y = np.searchsorted(codes, self.x), np.searchsorted(codes, self.y)
        same = x == y
        shares = [
            np.bincount(numbers, rows, minlength=len(codes)) / total
            for numbers, rows in ((x, weights), (y, weights), (y, weights * same))
        ]
        return _Classes(x, y, same, *shares)

    def mean_f1(self, *, weighted: bool = False) -> Influence:
        """2·F − 1 of the mean F1 of the classes, ``weighted`` by the share of rows whose y is the class, or equally."""
        x, y, same, named, asked, hits = self._classes()
        if not len(x):
            return self._influence(math.nan, np.zeros(0))
        size = named + asked
        f1, own = 2 * hits / size, asked if weighted else np.full(len(size), 1 / len(size))
        value, rate = float(own @ f1), own * (2 * hits / size) / size
        influence = 2 * same * (own / size)[x] - rate[x] - rate[y]
        return self._influence(2 * value - 1, 2 * (influence + (f1[y] - value if weighted else 0.0)))

    def balanced_accuracy(self) -> Influence:
        """2·B − 1 of the mean recall of the classes that are the y of a row."""
        x, y, same, _, asked, hits = self._classes()
        kept = np.isin(np.arange(len(asked)), y[: self.n])
        if not kept.any():
            return self._influence(math.nan, np.zeros(len(x)))
        asked = np.where(kept, asked, 1.0)  # the others do not count
        recall = np.where(kept, hits / asked, 0.0)
        value, own = float(recall.sum() / kept.sum()), kept / asked / kept.sum()
        return self._influence(2 * value - 1, 2 * own[y] * (same - recall[y]))

    def mcc(self) -> Influence:
        """Matthews' correlation of any number of classes, R of Gorodkin 2004.

        With p and t the shares of the classes in x and y, R = C/√(XY) for C = P(x = y) − Σ p·t, X = 1 − Σ p² and Y =
        1 − Σ t²; ψ = ψ(C)/√(XY) − R·(ψ(X)/X + ψ(Y)/Y)/2.
        """
        x, y, same, named, asked, hits = self._classes()
        by_chance, of_x, of_y = float(named @ asked), 1 - float(named @ named), 1 - float(asked @ asked)
        if not len(x) or not min(of_x, of_y) > _PERFECT:
            return self._influence(math.nan, np.zeros(len(x)))
        scale, both = math.sqrt(of_x * of_y), float(hits.sum())
        mcc = _clipped((both - by_chance) / scale)
        influence = (same - both - asked[x] - named[y] + 2 * by_chance) / scale
        spread = (1 - of_x - named[x]) / of_x + (1 - of_y - asked[y]) / of_y
        return self._influence(mcc, influence - mcc * spread)


def estimate_of(pairs: Pairs, figure: Callable[[Pairs], Influence], confidence: float) -> Estimate:
    """A figure of the rows alone, with its interval."""
    value = figure(pairs.alone).value
    return Estimate.of(value, figure(pairs).interval(value, confidence))


class _Above:
    """The rows above each row in the order of a column; tied rows count half."""

    def __init__(self, values: Floats, weights: Floats) -> None:
        self._order = np.argsort(values, kind="stable")
        ordered = values[self._order]
        self._first = np.searchsorted(ordered, values, side="left")
        self._last = np.searchsorted(ordered, values, side="right")
        self._weights, self._total = weights, float(weights.sum())
        self.ranks: Floats = _centred(-self.means(np.ones(len(values))), weights)

    def means(self, values: Floats) -> Floats:
        """The sum of the values of the rows above each row, divided by the sum of the weights."""
        sums = np.append(0.0, np.cumsum((values * self._weights)[self._order]))
        means: Floats = (sums[-1] - (sums[self._first] + sums[self._last]) / 2) / self._total
        return means


def _mean(values: Floats, weights: Floats) -> float:
    return exact_sum(values * weights) / float(weights.sum()) if len(values) else math.nan


def _centred(values: Floats, weights: Floats) -> Floats:
    return values - _mean(values, weights)


def _standard(values: Floats, weights: Floats) -> Floats:
    """The values less their mean, divided by their standard deviation; NaN if all are equal."""
    if len(values) == 0 or values.min() == values.max():
        return np.full(len(values), np.nan)
    scaled = values / np.abs(values).max()  # avoids overflow and underflow of the squares
    centred = _centred(scaled, weights)
    standard: Floats = centred / math.sqrt(_mean(centred * centred, weights))
    return standard


def _clipped(figure: float) -> float:
    """A figure that rounding took beyond ±1."""
    return max(-1.0, min(figure, 1.0)) if not math.isnan(figure) else figure


def _tied(values: Floats, weights: Floats) -> Floats:
    """The weight of the rows with the value of each row."""
    numbers = np.unique(values, return_inverse=True)[1]
    return np.asarray(np.bincount(numbers, weights, minlength=1)[numbers], np.float64)


def _concordance(x: Floats, y: Floats) -> Ints:
    """For each row, the number of concordant rows minus the number of discordant rows."""
    order = np.argsort(x, kind="stable")
    starts = np.flatnonzero(np.diff(x[order], prepend=np.nan) != 0)
    labels, levels = np.unique(y[order], return_inverse=True)
    lower = np.append(0, np.cumsum(np.bincount(levels, minlength=len(labels)))).astype(np.int64)
    found, out = np.empty(len(x), np.int64), np.empty(len(x), np.int64)
    concordance(np.append(starts, len(x)).astype(np.int64), levels.astype(np.int32), lower, found)
    out[order] = found
    return out


def _distances(values: Floats, others: Floats, weights: Floats, power: int) -> Floats:
    """The mean distance of each value from the others."""
    total = float(weights.sum())
    if power == 2:
        middle = _mean(others, weights)
        distances: Floats = (values - middle) ** 2 + _mean((others - middle) ** 2, weights)
        return distances
    order = np.argsort(others, kind="stable")
    ordered, shares = others[order], np.append(0.0, np.cumsum(weights[order])) / total
    below, upto = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    if power == 0:
        return np.asarray(1 - (shares[upto] - shares[below]), np.float64)
    sums = np.append(0.0, np.cumsum(ordered * weights[order])) / total
    return np.asarray(values * (2 * shares[upto] - 1) + sums[-1] - 2 * sums[upto], np.float64)
