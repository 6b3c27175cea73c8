"""Figures that are no means, such as κ, α, F1 of classes, correlations and AUC, and the one way to their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.notes import Note
from fastmetrics.kernels.exact_sums import concordance
from fastmetrics.stats.estimates import Estimate, Interval, Sample
from fastmetrics.stats.mean_interval import FEWER, LEAST_CLUSTERS, LEAST_ROWS
from fastmetrics.stats.sums import exact_sum

# The interval of a figure, from how much each row adds to it.
#
# The influence ψ of a row is the derivative of the figure with respect to the row's weight, times the sum of the
# weights; it adds up to 0.  Its spread gives the standard error of the figure (the delta method), as the residuals do
# for a mean.  Two things make that hold for rare classes and for figures near ±1 too (docs/studies/levels.md):
#
# - One more row, spread over all combinations of values, takes part in the interval.  Two raters who name 6 of 60
#   units each, and never the same one, are so not taken for raters who cannot name the same one.
# - A variance that few rows carry is known only as well as that of few rows.  The sum of squares Σψ² varies like a χ²
#   with 2n/(k − 1) degrees of freedom, where k is the kurtosis of ψ; these are n for a normal ψ.
#
# A correlation has a floor instead of that row, which would hide how near to ±1 many values are: the standard error
# that normal values have on Fisher's scale.  It holds for them, for grades and for flags; where few rows far from the
# others say more, ψ does.


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
_MOST_EXACT = 1e6
_GRADES = 12
_WIDER = 1.2
"""How much wider than that of the plain method an interval is that a note calls wide."""
_BY_CHANCE = 6
"""Divided by the number of rows, how much wider still it is where rows far from the others are noted: by chance, normal
values make 1.2 in one of six samples of 20 rows."""


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
    floor: float = 0.0
    """The least standard error on Fisher's scale."""
    few: str = "few_carry"
    """The note where few rows make the interval wide."""

    def interval(self, figure: float, confidence: float, *, wider: float = 1.0) -> Interval:
        """The interval of the ``figure`` of the rows alone: Student's t on Fisher's scale, artanh of the figure.

        ``wider`` is a factor of its standard error.
        """
        from scipy.special import ndtri, stdtrit

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
        near = 0.0 if self.floor else _LEAST_FREEDOM[1] * self.value**2
        freedom = max(min(spread.freedom, carried), _LEAST_FREEDOM[0] + near)
        tail, scale = (1 + confidence) / 2, wider / (n + exact_sum(self.weights)) / slope
        plain = float(ndtri(tail)) * max(math.sqrt(of_rows) * scale * (not self.floor), self.floor * wider)
        reach, middle = float(stdtrit(freedom, tail)) * math.sqrt(squares) * scale, math.atanh(self.value)
        wide = _WIDER + (_BY_CHANCE / n if self.few == "far_rows" else 0.0)
        is_wide = reach > wide * plain and (freedom + 1 < LEAST_ROWS or not self.floor)
        reach = max(reach, plain)
        low, high = math.tanh(middle - reach), math.tanh(middle + reach)
        note = self._note(spread.count, spread.freedom, is_wide)
        return Interval(min(low, figure), max(high, figure), "t", note)

    def _note(self, count: int, possible: float, is_wide: bool) -> str | None:
        """Why the interval may be too sure, or that it is wide."""
        what = "rows" if self.clusters is None else "clusters"
        if count < FEWER:
            return Note("too_few", least=FEWER, what=what)
        if self.clusters is not None and possible + 1 < LEAST_CLUSTERS:
            few = count < LEAST_CLUSTERS
            return (
                Note("few", least=LEAST_CLUSTERS, what=what) if few else Note("uneven_clusters", least=LEAST_CLUSTERS)
            )
        return Note(self.few, what=what) if is_wide else None


UNKNOWN = Interval(math.nan, math.nan, "none")
"""The interval of a figure that has none."""


# The engine: a figure is a formula of sums over rows.  The influence of a row is that of its parts of the sums, by the
# derivatives of the formula, which are computed, not derived: the imaginary part of f(s + i·h) is h·f'(s) to the last
# digit for a tiny h (Squire and Trapp 1998).


Column: TypeAlias = Floats | tuple[float, Floats]
"""What a formula takes the sum of: a number of each row; or the sum itself, with its derivative by each row's weight,
where what is added depends on the weights of other rows."""

_STEP = 1e-30


def of_sums(
    formula: Callable[..., Any], columns: Sequence[Column], weights: Floats, *, influence: bool = True
) -> tuple[float, Floats]:
    """The value of a formula of the sums of columns, and the influence of each row on it.

    >>> precision = lambda hits, named: hits / named
    >>> value, influence = of_sums(precision, [np.array([1.0, 0, 0]), np.array([1.0, 1, 0])], np.ones(3))
    >>> value, influence.tolist()
    (0.5, [0.75, -0.75, 0.0])
    """
    sums = [np.float64(one[0] if isinstance(one, tuple) else exact_sum(one * weights)) for one in columns]
    added, value = np.zeros(len(weights)), float(formula(*sums))
    if not influence:
        return value, added
    for column, slope in zip(columns, _slopes(lambda *moved: [formula(*moved)], sums)[0], strict=True):
        added += slope * (column[1] if isinstance(column, tuple) else column)
    total = float(weights.sum())
    return value, (added - float((added * weights).sum()) / total) * total


def _slopes(formulas: Callable[..., Sequence[Any]], sums: Sequence[Any]) -> list[list[Any]]:
    """The derivatives of each formula by each of its arguments; of arrays, element by element."""
    moved = [formulas(*(one + 1j * _STEP * (at == place) for at, one in enumerate(sums))) for place in range(len(sums))]
    return [[np.imag(one) / _STEP for one in by_argument] for by_argument in zip(*moved, strict=True)]


# Figures of pairs of values: correlations, AUC, Cohen's κ, and those of predicted and expected classes.


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
    is_asked_influence: bool = True
    """Whether figures have the influence of rows; it takes most of the time."""

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

    @cached_property
    def alone(self) -> Pairs:
        """The rows without the added one, for the values of figures."""
        return replace(self.unspread, is_asked_influence=False)

    @cached_property
    def unspread(self) -> Pairs:
        """The rows without the added one."""
        return replace(self, x=self.x[: self.n], y=self.y[: self.n], weight=0.0)

    @property
    def weights(self) -> Floats:
        """The weight of each row and part."""
        return np.append(np.ones(self.n), np.full(len(self.x) - self.n, self.weight))

    @cached_property
    def n_values(self) -> int:
        """The number of different values of the column that has more; x is in ascending order."""
        return max(int(np.count_nonzero(np.diff(self.x[: self.n]))) + 1, len(np.unique(self.y[: self.n])))

    @cached_property
    def _coded(self) -> tuple[Floats, Ints, Ints]:
        """The values of both columns, and the place of each row's x and y among them."""
        places, codes = np.unique(np.concatenate([self.x, self.y]), return_inverse=True)
        return places, codes[: len(self.x)], codes[len(self.x) :]

    def of_sums(self, formula: Callable[..., Any], columns: Sequence[Column]) -> Influence:
        """A figure between −1 and 1 that is a formula of sums over the rows; NaN without rows or where it is 0/0."""
        if not len(self.x):
            return self._influence(math.nan, self.x)
        with np.errstate(invalid="ignore", divide="ignore"):
            return self._influence(*of_sums(formula, columns, self.weights, influence=self.is_asked_influence))

    def _influence(self, value: float, influence: Floats) -> Influence:
        rows, added = np.empty(self.n), influence[self.n :]
        rows[self.order] = influence[: self.n]
        return Influence(value, rows, self.clusters, added, np.full(len(added), self.weight))

    def pearson(self) -> Influence:
        """Pearson's r."""
        a, b = (_standard(values, self.weights) for values in (self.x, self.y))

        def r(n: Any, a: Any, b: Any, aa: Any, bb: Any, ab: Any) -> Any:
            return (n * ab - a * b) / np.sqrt((n * aa - a * a) * (n * bb - b * b))

        return self._clipped(r, [np.ones(len(a)), a, b, a * a, b * b, a * b])

    def spearman(self) -> Influence:
        """Spearman's ρ: r of the ranks; a row moves those of the rows above it, and by half those tied with it."""
        above_x, above_y = _Above(self.x, self.weights), _Above(self.y, self.weights)
        u, v = above_x.ranks, above_y.ranks
        moved = [
            u * v + above_x.means(v) + above_y.means(u),
            u * u + 2 * above_x.means(u),
            v * v + 2 * above_y.means(v),
        ]
        columns = [
            (exact_sum(one * self.weights), by_row) for one, by_row in zip((u * v, u * u, v * v), moved, strict=True)
        ]
        return self._clipped(lambda uv, uu, vv: uv / np.sqrt(uu * vv), columns)

    def kendall(self) -> Influence:
        """Kendall's τ-b, from the concordant minus discordant rows of each row and those not tied with it."""
        weights, n = self.weights, self.n
        c = _concordance(self.x, self.y).astype(np.float64)
        own, of_parts = _concordance(self.x[:n], self.y[:n]), _concordance(self.x[n:], self.y[n:])
        c[:n] = own + self.weight * (c[:n] - own)
        c[n:] = (c[n:] - of_parts) + self.weight * of_parts
        a, b = (float(weights.sum()) - _tied(values, weights) for values in (self.x, self.y))
        return self._clipped(
            lambda c, a, b: c / np.sqrt(a * b), [(exact_sum(side * weights), 2 * side) for side in (c, a, b)]
        )

    def auc(self, positive: float) -> Influence:
        """2·AUC − 1 of x for the rows whose y is at least ``positive``: the share of pairs that such a row wins."""
        good = (self.y >= positive).astype(np.float64)
        above, total = _Above(self.x, self.weights), float(self.weights.sum())
        lower = exact_sum((1 - good) * self.weights) - total * above.means(1 - good)
        wins = exact_sum(good * lower * self.weights), np.where(good > 0, lower, total * above.means(good))
        return self.of_sums(lambda good, others, wins: 2 * wins / (good * others) - 1, [good, 1 - good, wins])

    def kappa(self, power: int) -> Influence:
        """Cohen's κ, whose disagreements weigh |x − y|^``power``; ``power`` 0 is the unweighted kappa."""
        places, x, y = self._coded
        span, exponent = (float(np.ptp(places)) if len(places) else 0.0), 0
        if not 1 <= span <= _MOST_EXACT:  # the squares of others may overflow or vanish
            exponent = -math.frexp(span)[1]
        places = np.ldexp(places - places.min(initial=math.inf), exponent)
        apart = np.abs(places[x] - places[y]) ** power if power else (x != y).astype(np.float64)
        margins = [np.asarray(np.bincount(side, self.weights, len(places)), np.float64) for side in (x, y)]
        sides = [_distances(places, margin, power) for margin in margins]
        expected = exact_sum(sides[1] * margins[0]), sides[1][x] + sides[0][y]

        def kappa(n: Any, expected: Any, observed: Any) -> Any:
            return (expected - n * observed) / expected

        return self.of_sums(kappa, [np.ones(len(x)), expected, apart])

    def f1(self, positive: float, cut: float) -> Influence:
        """2·F1 − 1 of the decision that x is at least ``cut``, for the rows whose y is at least ``positive``."""
        decided, good = (self.x >= cut).astype(np.float64), (self.y >= positive).astype(np.float64)
        return self.of_sums(lambda hits, either: 4 * hits / either - 1, [decided * good, decided + good])

    def mean_f1(self, *, weighted: bool = False) -> Influence:
        """2·F − 1 of the mean F1 of the classes, ``weighted`` by the share of rows whose y is the class, or equally."""

        def terms(named: Any, asked: Any, hits: Any) -> list[Any]:
            weight = asked if weighted else np.ones(len(asked))
            return [weight * 2 * hits / (named + asked), weight]

        return self._of_classes(terms, lambda f1, weight: 2 * f1 / weight - 1)

    def balanced_accuracy(self) -> Influence:
        """2·B − 1 of the mean recall of the classes that are the y of a row."""
        kept = np.isin(self._coded[0], self.y[: self.n])

        def terms(_: Any, asked: Any, hits: Any) -> list[Any]:
            return [kept * hits / np.where(kept, asked, 1), kept * 1.0]

        return self._of_classes(terms, lambda recall, classes: 2 * recall / classes - 1)

    def mcc(self) -> Influence:
        """Matthews' correlation of any number of classes, R of Gorodkin 2004."""

        def terms(named: Any, asked: Any, hits: Any) -> list[Any]:
            return [asked, hits, named * asked, named * named, asked * asked]

        def mcc(n: Any, hits: Any, both: Any, named: Any, asked: Any) -> Any:
            return (n * hits - both) / np.sqrt((n * n - named) * (n * n - asked))

        return self._of_classes(terms, mcc)

    def _of_classes(self, terms: Callable[..., list[Any]], formula: Callable[..., Any]) -> Influence:
        """A formula of the sums of ``terms`` over the classes, of the weights of the rows whose x is the class, whose y
        is, and of which both are.
        """
        places, x, y = self._coded
        same, size = x == y, len(places)
        sides = [np.bincount(x, self.weights, size), np.bincount(y, self.weights, size)]
        sides.append(np.bincount(x, self.weights * same, size))
        sums, by_row = [np.float64(exact_sum(term)) for term in terms(*sides)], np.zeros(len(x))
        with np.errstate(invalid="ignore", divide="ignore"):
            value = float(formula(*sums))
            if self.is_asked_influence:
                outer = _slopes(lambda *moved: [formula(*moved)], sums)[0]
                by_class = [slope * np.array(inner) for slope, inner in zip(outer, _slopes(terms, sides), strict=True)]
                named, asked, both = np.sum(by_class, axis=0)
                by_row = named[x] + asked[y] + both[x] * same
        return self.of_sums(lambda figure: figure, [(value, by_row)])

    def _clipped(self, formula: Callable[..., Any], columns: Sequence[Column]) -> Influence:
        """A correlation, which rounding may take beyond ±1."""
        found = self.of_sums(formula, columns)
        return found if math.isnan(found.value) else replace(found, value=max(-1.0, min(found.value, 1.0)))


def estimate_of(pairs: Pairs, figure: Callable[[Pairs], Influence], confidence: float) -> Estimate:
    """A figure of the rows alone, with its interval."""
    value = figure(pairs.alone).value
    return Estimate.of(value, figure(pairs).interval(value, confidence))


def correlation_of(pairs: Pairs, figure: str, confidence: float) -> Estimate:
    """A correlation by name, with its interval."""
    formula, floor, with_row = _CORRELATIONS[figure]
    alone, few = formula(pairs.unspread), pairs.n_values
    if pairs.n <= _LEAST or few <= with_row or not abs(alone.value) < 1 - _PERFECT:
        return estimate_of(pairs, formula, confidence)
    note = "few_carry" if few <= _GRADES or figure == "kendall" else "far_rows"
    floored = replace(alone, floor=math.sqrt(floor(alone.value, pairs.n)), few=note)
    return Estimate.of(alone.value, floored.interval(alone.value, confidence))


_CORRELATIONS: Mapping[str, tuple[Callable[[Pairs], Influence], Callable[[float, int], float], int]] = {
    "pearson": (Pairs.pearson, lambda r, n: 1 / (n - 3), 2),
    "spearman": (Pairs.spearman, lambda rho, n: (1 + rho * rho / 2) / (n - 3), 2),
    "kendall": (Pairs.kendall, lambda tau, n: 0.437 / (n - 4), _GRADES),
}
"""The correlations, the least variance of each on Fisher's scale, which is that of normal values (Fisher 1921; Bonett
and Wright 2000; Fieller, Hartley and Pearson 1957), and up to how many values the added row takes its place."""


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


def _distances(places: Floats, margin: Floats, power: int) -> Floats:
    """The sum of the distances of each place from all, by their weights."""
    total, first = float(margin.sum()), places * margin
    if power == 0:
        return total - margin
    if power == 2:
        sums: Floats = total * places**2 - 2 * places * exact_sum(first) + exact_sum(places * first)
        return sums
    return np.asarray(places * (2 * np.cumsum(margin) - total) + exact_sum(first) - 2 * np.cumsum(first), np.float64)
