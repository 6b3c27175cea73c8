"""Agreement between raters: Cohen's κ and Krippendorff's α."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fastmetrics.base.display import FigureTable, Grid, number
from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.options import Real, argument
from fastmetrics.stats.agreement.agreement_intervals import kappa_interval
from fastmetrics.stats.agreement.krippendorff_alpha import alpha_parts
from fastmetrics.stats.agreement.ratings import Ratings, read_ratings
from fastmetrics.stats.intervals.estimates import Interval

Weights = Literal["none", "linear", "quadratic"]
Level = Literal["nominal", "ordinal", "interval", "ratio"]
_MANY = 20_000  # number of distinct amounts whose pairs take less than a second

_ORDER = Argument("order"), "[lowest, ..., highest]"


def cohen_kappa(first: Any, second: Any, *, weights: Weights = "none", order: Sequence[Any] | None = None) -> float:
    """Cohen's kappa of two raters: κ = 1 − Σ w·observed / Σ w·expected over the pairs of categories.

    A disagreement between the i-th and the j-th category in use, in ascending order, weighs 1, ``linear`` |i − j| or
    ``quadratic`` (i − j)².  ``order`` lists all categories from the lowest to the highest, like scikit-learn's
    ``labels``.  Words need it for weights, because alphabetical order is not a scale, unless they are ordered
    categories of pandas or Polars.  Units that either rater left out (null, NaN) are ignored.  NaN if no disagreement
    is expected (a single category) or no unit remains.  Source: Cohen 1960 and 1968, as in scikit-learn.

    >>> cohen_kappa([1, 1, 0, 0], [1, 0, 0, 0])
    0.5
    >>> scale = ["bad", "fair", "good"]
    >>> round(cohen_kappa(["bad", "good", "fair"], ["fair", "good", "fair"], weights="linear", order=scale), 3)
    0.571

    Raises ``OptionError`` for unknown weights, weights of words without an order, and an order that lacks a rating,
    ``InputError`` for columns of different length, and ``ColumnError`` for columns that contain neither numbers nor
    text.
    """
    if weights not in get_args(Weights):
        raise OptionError(Argument("weights", weights), f": expected one of {', '.join(get_args(Weights))}")
    ratings = read_ratings([first, second], order)
    if weights != "none" and not ratings.ordered:
        raise OptionError(Argument("weights", weights), ": the order of words is unknown; give ", *_ORDER)
    return _kappa(*_codes_of(ratings, 0, 1), weights)


def krippendorff_alpha(
    ratings: Any,
    *,
    level: Level = "nominal",
    order: Sequence[Any] | None = None,
    raters: Sequence[str] | str | None = None,
) -> float:
    """Krippendorff's alpha of any number of raters: α = 1 − observed disagreement / expected disagreement.

    ``ratings`` is a table with one row per unit and one column per rater (pandas, Polars, Arrow, a dict): all columns
    but ``id``, or the columns in ``raters``.  A sequence of columns and an array of raters × units work too.  Convert a
    long table with one row per rating by ``pivot`` of pandas or Polars: ``frame.pivot(index="unit", columns="rater",
    values="rating")``.  Null and NaN mean not rated; units with fewer than two ratings are ignored.

    The distance between two ratings is 1 (``nominal``), the square of the number of ratings between them, counting half
    of their own (``ordinal``), the square of their difference (``interval``), or the square of their difference divided
    by their sum (``ratio``, for amounts of 0 or more; its time grows with the square of the number of distinct
    amounts).  Words are nominal, or ordinal with ``order``, which lists all words from the lowest to the highest.  NaN
    if all ratings are equal.  Source: Krippendorff 2011, Computing Krippendorff's alpha-reliability.

    >>> krippendorff_alpha([[1, 2, 3, None], [1, 2, 2, 3]])
    0.5454545454545454
    >>> round(krippendorff_alpha({"id": [7, 8, 9], "ann": [1, 2, 8], "bob": [1, 2, 9]}, level="ratio"), 4)
    0.9961

    Raises ``OptionError`` for an unknown level, a level that these ratings do not support, and an order that lacks a
    rating, ``InputError`` for columns of different length, and ``ColumnError`` for columns that contain neither numbers
    nor text.
    """
    if level not in get_args(Level):
        raise OptionError(Argument("level", level), f": expected one of {', '.join(get_args(Level))}")
    rated = read_ratings(ratings, order, raters)
    if level not in _levels(rated):
        if level == "ratio" and rated.values is not None:
            least = float(rated.values.min())
            raise OptionError(Argument("level", level), f": expected amounts of 0 or more, got {least}")
        raise OptionError(
            Argument("level", level), ": words need the nominal level, or the ordinal level with ", *_ORDER
        )
    return _alpha(rated, level)


@dataclass(frozen=True)
class PairAgreement:
    """Cohen's kappa of two raters over the ``n`` units that both rated; NaN if undefined."""

    first: str
    second: str
    n: int
    kappa: float
    kappa_linear: float
    kappa_quadratic: float
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    """The intervals of these figures, by name."""


@dataclass(frozen=True)
class Agreement(FigureTable):
    """Agreement of raters: kappa of each pair, and Krippendorff's alphas.

    Figures that the ratings do not support are NaN: weighted kappas and the ordinal alpha of words without an order,
    the interval alpha of words, and the ratio alpha of anything but amounts of 0 or more.  The ratio alpha of more than
    20,000 distinct amounts is omitted too, because it takes long: use ``krippendorff_alpha``.
    """

    n_units: int
    pairs: Sequence[PairAgreement]
    alpha_nominal: float
    alpha_ordinal: float
    alpha_interval: float
    alpha_ratio: float
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    """The intervals of the alphas, by name."""

    @property
    def figure_intervals(self) -> Mapping[str, Interval]:
        """The intervals of the alphas."""
        return self.intervals

    def grids(self) -> Sequence[Grid]:
        """The alphas with their intervals, and the kappas of each pair of raters."""
        kinds = ("kappa", "kappa_linear", "kappa_quadratic")
        lines = [
            (pair.first, pair.second, number(pair.n), *(number(getattr(pair, kind)) for kind in kinds))
            for pair in self.pairs
        ]
        return [*super().grids(), Grid(("first", "second", "n", *kinds), lines, label_columns=2)]

    @property
    def figures(self) -> dict[str, float]:
        """The values by name; the kappa of the first and the third rater is ``kappa_1_3``."""
        alphas = {
            name: float(getattr(self, name)) for name in ("n_units", *(f"alpha_{level}" for level in get_args(Level)))
        }
        raters = list(dict.fromkeys(name for pair in self.pairs for name in (pair.first, pair.second)))
        for pair in self.pairs:
            both = f"{raters.index(pair.first) + 1}_{raters.index(pair.second) + 1}"
            for kind in ("kappa", "kappa_linear", "kappa_quadratic"):
                alphas[f"{kind}_{both}"] = getattr(pair, kind)
        return alphas


def agreement(
    ratings: Any,
    *,
    order: Sequence[Any] | None = None,
    raters: Sequence[str] | str | None = None,
    confidence: float | None = 0.95,
) -> Agreement:
    """Agreement between raters, with ratings as in :func:`krippendorff_alpha`.

    ``n_units`` is the number of units with two ratings or more.  ``intervals`` have the confidence interval of each
    figure over units: Student's t on Fisher's scale artanh, with the standard error of the delta method; the ratio
    alpha of more than 1,000 distinct amounts has none, and with ``confidence=None`` they are left out.

    >>> agreement({"ann": [1, 0, 1, 1], "bob": [1, 0, 0, 1]}).pairs[0].kappa
    0.5

    Raises the errors of :func:`krippendorff_alpha`.
    """
    if confidence is not None:
        argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    table = read_ratings(ratings, order, raters)
    rated = table.codes >= 0
    weights = [weights for weights in get_args(Weights) if weights == "none" or table.ordered]
    pairs = []
    for (i, first), (j, second) in itertools.combinations(enumerate(table.names), 2):
        a, b = _codes_of(table, i, j)
        kappas = [_kappa(a, b, weight) for weight in weights]
        names = ("kappa", "kappa_linear", "kappa_quadratic")[: len(kappas)]
        intervals = {}
        if confidence is not None:
            intervals = {name: kappa_interval(a, b, power, confidence) for power, name in enumerate(names)}
        padded = [*kappas, math.nan, math.nan]
        pairs.append(PairAgreement(first, second, len(a), padded[0], padded[1], padded[2], intervals))
    levels = _levels(table)
    if table.values is not None and len(table.values) > _MANY:
        levels = [level for level in levels if level != "ratio"]
    parts = {level: alpha_parts(table, level, confidence is not None) for level in levels}
    defined = {level: part for level, part in parts.items() if part is not None}
    alphas = [defined[level].value if level in defined else math.nan for level in get_args(Level)]
    intervals = {}
    if confidence is not None:
        intervals = {f"alpha_{level}": part.interval(confidence) for level, part in defined.items()}
    n_units = int((rated.sum(axis=1) >= 2).sum())
    return Agreement(n_units, pairs, alphas[0], alphas[1], alphas[2], alphas[3], intervals)


def _levels(ratings: Ratings) -> list[str]:
    """The levels of measurement that the ratings support."""
    if ratings.values is None:
        return ["nominal", "ordinal"] if ratings.ordered else ["nominal"]
    return [level for level in get_args(Level) if level != "ratio" or ratings.values.min(initial=0.0) >= 0]


def _codes_of(ratings: Ratings, first: int, second: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The ratings of two raters of the units that both rated, as positions on the scale.

    Without a given scale, adjacent categories in use are one step apart.
    """
    codes = ratings.codes[:, [first, second]]
    codes = codes[(codes >= 0).all(axis=1)]
    if not ratings.scaled:
        codes = np.unique(codes, return_inverse=True)[1]
    a, b = codes.reshape(-1, 2).T
    return a, b


def _kappa(a: NDArray[np.int64], b: NDArray[np.int64], weights: Weights) -> float:
    """Kappa of the positions of two raters' ratings."""
    n, places = len(a), range(int(max(a.max(initial=0), b.max(initial=0))) + 1)
    count_a, count_b = (np.bincount(side, minlength=len(places)).tolist() for side in (a, b))
    if weights == "none":
        observed = int((a != b).sum())
        expected = n * n - sum(x * y for x, y in zip(count_a, count_b, strict=True))
    elif weights == "linear":  # |i − j| is the number of boundaries between i and j
        observed = int(abs(a - b).sum())
        upto = zip(itertools.accumulate(count_a), itertools.accumulate(count_b), strict=True)
        expected = sum(x * (n - y) + y * (n - x) for x, y in upto)
    else:
        observed = int(((a - b) ** 2).sum())
        (sum_a, sum_b) = (sum(i * count[i] for i in places) for count in (count_a, count_b))
        expected = n * sum(i * i * (count_a[i] + count_b[i]) for i in places) - 2 * sum_a * sum_b
    return (expected - n * observed) / expected if expected else math.nan


def scale_kappa(first: NDArray[np.float64], second: NDArray[np.float64], power: Literal[1, 2]) -> float:
    """Cohen's weighted kappa of two raters whose ratings are numbers on one scale, such as a rubric's.

    A disagreement weighs |x − y|^``power``: 1 is linear, 2 quadratic.  Grades of the scale that nobody used thus keep
    their distance, and means of repeats (4.5) keep their place.  NaN if no disagreement is expected.
    """
    values = np.unique(np.concatenate([first, second]))
    a, b = (np.searchsorted(values, side) for side in (first, second))
    count_a, count_b = (np.bincount(side, minlength=len(values)) for side in (a, b))
    observed = math.fsum(np.abs(first - second) ** power)
    expected = math.fsum(
        math.fsum(np.abs(value - values) ** power * count_b) * int(count)
        for value, count in zip(values.tolist(), count_a, strict=True)
        if count
    )
    return 1.0 - len(first) * observed / expected if expected else math.nan


def _alpha(ratings: Ratings, level: str) -> float:
    parts = alpha_parts(ratings, level)
    return math.nan if parts is None else parts.value
