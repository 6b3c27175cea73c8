"""Agreement between raters of the same units: Cohen's κ and Krippendorff's α, with their intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fastmetrics.base.arrays import Floats, Ints, doubles, is_number, is_text, narrowest
from fastmetrics.base.column_names import is_id, listed
from fastmetrics.base.columns import as_array, as_arrow, by_index, index_columns, open_frame
from fastmetrics.base.display import Grid, NotebookTables, lines_of
from fastmetrics.base.errors import Argument, ColumnError, InputError, OptionError, UnknownColumnError, UnknownNameError
from fastmetrics.base.options import Real, argument
from fastmetrics.stats.estimates import UNDEFINED, Estimate
from fastmetrics.stats.figures import UNKNOWN, Influence, Pairs, of_sums
from fastmetrics.stats.labels import group_numbers
from fastmetrics.stats.sums import exact_sum

# Ratings of the same units by several raters: columns of any table, as positions on one scale.


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings on one scale; ``codes`` (units × raters) are ascending positions on it, −1 for none."""

    names: Sequence[str]
    codes: NDArray[np.int64]
    values: NDArray[np.float64] | None
    """The number at each position; None for words."""
    scaled: bool
    """Whether an ordered scale was given; otherwise it consists of the sorted ratings that occur."""

    @property
    def ordered(self) -> bool:
        """Whether ratings are ordered; words need a given scale."""
        return self.scaled or self.values is not None


def read_ratings(
    ratings: Any, order: Sequence[Any] | None = None, raters: Sequence[str] | str | None = None
) -> Ratings:
    """The ratings in the columns of a table, or in a sequence of columns or an array of raters × units.

    The raters are the columns ``raters`` of a table, by default all but ``id`` and the pandas index.  ``order`` is the
    scale from the lowest to the highest rating; by default it comes from ordered categories, if the columns have them.
    """
    arrays = _columns(ratings, raters)
    if not arrays:
        raise InputError("expected ratings, one column for each rater")
    narrow = narrowest([array.type for array in arrays.values()])
    columns = [_plain(name, array, narrow) for name, array in arrays.items()]
    if len({len(column) for column in columns}) != 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise InputError(f"expected columns of equal length, one row per unit; their lengths are {lengths}")
    kinds = {column.type for column in columns if not pa.types.is_null(column.type)} or {pa.float64()}
    if len(kinds) != 1:
        raise ColumnError(
            "the ratings mix numbers and words; expected one of them; choose the columns of raters with ",
            Argument("raters"),
        )
    kind = kinds.pop()
    flat = pa.concat_arrays([column.cast(kind) for column in columns])
    scale = _ordered(arrays) if order is None else order
    categories = _distinct(flat) if scale is None else _scale(scale, kind)
    places = pc.index_in(flat, categories, skip_nulls=True)
    lacking = flat.filter(pc.and_(places.is_null(), flat.is_valid()))
    if len(lacking):
        raise OptionError(Argument("order", categories.to_pylist()), f": it lacks the rating {lacking[0].as_py()!r}")
    codes = places.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    values = categories.to_numpy(zero_copy_only=False) if kind == pa.float64() else None
    return Ratings(list(arrays), codes.reshape(len(columns), -1).T, values, scale is not None)


def _columns(ratings: Any, raters: Sequence[str] | str | None) -> dict[str, pa.Array | pa.ChunkedArray]:
    """The raters' columns by name; those of a plain sequence are named by position."""
    first = ratings[0] if isinstance(ratings, list | tuple) and ratings else ratings
    if not isinstance(first, Mapping) and not any(hasattr(type(first), name) for name in ("schema", "columns")):
        if raters is not None:
            raise OptionError(Argument("raters", raters), ": needs a table with named columns")
        given = by_index({f"ratings[{place}]": column for place, column in enumerate(ratings)})
        return {name: as_arrow(column, name) for name, column in given.items()}
    frame = open_frame(ratings)
    names = frame.names if raters is None else listed(raters)
    for name in names:
        if name not in frame.names:
            raise UnknownColumnError(f"raters: {UnknownNameError.of('column', name, frame.names)}")
    if raters is None:
        names = [name for name in names if not is_id(name)]
    schema, pieces = frame.read(names)
    table = pa.concat_tables(pieces, promote_options="permissive")
    return {name: table.column(name) for name in names if raters is not None or name not in index_columns(schema)}


def _plain(name: str, column: pa.Array | pa.ChunkedArray, narrow: type[np.floating] | None = None) -> pa.Array:
    """A rater's column as numbers (float64, with the precision of a narrower type) or words, null without a rating."""
    array = as_array(column, name)
    kind = array.type
    if pa.types.is_null(kind):
        return array
    if is_number(kind) or pa.types.is_boolean(kind):
        array = doubles(array)
        if narrow is not None and pa.types.is_floating(kind):
            array = array.cast(pa.from_numpy_dtype(narrow), safe=False).cast(pa.float64())
        return pc.if_else(pc.is_nan(array), None, array)
    if is_text(kind):
        return array.cast(pa.string())
    raise ColumnError(f"column {name!r}: expected ratings as numbers or words, got {array.type}")


def _distinct(flat: pa.Array) -> pa.Array:
    return pa.array(np.unique(flat.drop_null().to_numpy(zero_copy_only=False)), flat.type)


def _scale(order: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """A given order, in the type of the ratings."""
    if isinstance(order, str) or not len(order) or len(set(order)) < len(order):
        raise OptionError(Argument("order", order), ": expected a list of all ratings, from the lowest to the highest")
    scale = _plain("order", as_arrow(order, "order"))
    if scale.type != kind or scale.null_count:
        expected = "words" if is_text(kind) else "numbers"
        raise OptionError(Argument("order", order), f": expected {expected}, as the ratings are")
    return scale


def _ordered(arrays: Mapping[str, pa.Array | pa.ChunkedArray]) -> list[Any] | None:
    """The order of ordered categories of pandas and Polars."""
    first, *others = [_categories(array) for array in arrays.values()]
    if first is None or any(other != first for other in others):
        return None
    return first


def _categories(array: pa.Array | pa.ChunkedArray) -> list[Any] | None:
    if not (pa.types.is_dictionary(array.type) and array.type.ordered):
        return None
    chunk = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    return list(chunk.dictionary.to_pylist())


# Krippendorff's alpha as a figure of units.


def alpha_of(
    ratings: Ratings, level: str, weights: Floats | None = None, *, is_asked_influence: bool = True
) -> Influence | None:
    """Alpha of the units with two ratings or more; None without two different ratings.

    α = 1 − (n − 1)·Σ w·within/(size − 1) / between, where ``within`` and ``between`` are the distances of the ordered
    pairs of ratings of a unit and of all, and n = Σ w·size.  ``weights`` are those of such units.
    """
    codes = ratings.codes[(ratings.codes >= 0).sum(axis=1) >= 2]
    weights = np.ones(len(codes)) if weights is None else weights
    units, raters = np.nonzero(codes >= 0)
    used, flat = np.unique(codes[units, raters], return_inverse=True)
    if len(used) < 2:
        return None
    sizes, heavy = np.bincount(units).astype(np.float64), weights[units]
    n, counts = float(heavy.sum()), np.asarray(np.bincount(flat, heavy), np.float64)
    if level == "nominal":
        cells, occur = np.unique(units * len(used) + flat, return_counts=True)
        within = sizes**2 - np.bincount(cells // len(used), occur.astype(np.float64) ** 2)
        crossed = n - counts[flat]
    else:
        ranks = np.cumsum(counts) - counts / 2  # their difference is the ordinal distance
        scale = ranks if level == "ordinal" or ratings.values is None else ratings.values[used]
        rated = (scale - scale @ counts / n)[flat]
        within = 2 * (sizes * np.bincount(units, rated**2) - np.bincount(units, rated) ** 2)
        crossed = n * rated**2 + float((heavy * rated**2).sum())
    between = np.asarray(np.bincount(units, crossed), np.float64)
    value, influence = of_sums(
        lambda n, within, between: 1 - (n - 1) * within / between,
        [sizes, within / (sizes - 1), (exact_sum(between * weights), 2 * between)],
        weights,
        influence=is_asked_influence,
    )
    return Influence(value, influence, None, np.zeros(0), np.zeros(0))


def _alpha(ratings: Ratings, level: str, confidence: float | None, clusters: Ints | None) -> Estimate:
    """Alpha with its interval over the units with two ratings or more."""
    alone = alpha_of(ratings, level, is_asked_influence=False)
    if alone is None or confidence is None:
        return UNDEFINED if alone is None else Estimate.of(alone.value, UNKNOWN)
    rated = (ratings.codes >= 0).sum(axis=1) >= 2
    codes = ratings.codes[rated]
    used = np.unique(codes[codes >= 0]).astype(np.float64)
    parts = Pairs.of(used, used, one_scale=True)  # of two ratings each
    more = np.full((len(parts.x) - parts.n, codes.shape[1]), -1)
    more[:, 0], more[:, 1] = parts.x[parts.n :], parts.y[parts.n :]
    weights = np.append(np.ones(len(codes)), np.full(len(more), parts.weight))
    spread = alpha_of(replace(ratings, codes=np.concatenate([codes, more])), level, weights)
    if spread is None:
        return Estimate.of(alone.value, UNKNOWN)
    n, own = len(codes), None if clusters is None else clusters[rated]
    influence = Influence(spread.value, spread.rows[:n], own, spread.rows[n:], weights[n:])
    return Estimate.of(alone.value, influence.interval(alone.value, confidence))


# Agreement between raters: Cohen's κ and Krippendorff's α.


Weights = Literal["none", "linear", "quadratic"]
Level = Literal["nominal", "ordinal", "interval"]

_ORDER = Argument("order"), "[lowest, ..., highest]"
KAPPAS = ("kappa", "kappa_linear", "kappa_quadratic")
_POWERS = dict(zip(get_args(Weights), range(3), strict=True))
ALPHAS = tuple(f"alpha_{level}" for level in get_args(Level))


def cohen_kappa(first: Any, second: Any, *, weights: Weights = "none", order: Sequence[Any] | None = None) -> float:
    """Cohen's kappa of two raters: κ = 1 − Σ w·observed / Σ w·expected over the pairs of categories.

    A disagreement weighs 1, ``linear`` the distance of both ratings on the scale, or ``quadratic`` its square.  Numbers
    are their own scale: 1 and 5 are 4 apart whether or not a unit has 3.  ``order`` lists the categories of another
    scale from the lowest to the highest, one step apart, like scikit-learn's ``labels``.  Words need it for weights,
    because alphabetical order is not a scale, unless they are ordered categories of pandas or Polars.  Units that
    either rater left out (null, NaN) are ignored.  NaN if no disagreement is expected (a single category) or no unit
    remains.  Source: Cohen 1960 and 1968, as in scikit-learn.

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
    return _pairs_of(ratings, 0, 1).alone.kappa(_POWERS[weights]).value


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
    of their own (``ordinal``), or the square of their difference (``interval``).  Words are nominal, or ordinal with
    ``order``, which lists all words from the lowest to the highest.  NaN if all ratings are equal.  Source:
    Krippendorff 2011, Computing Krippendorff's alpha-reliability.

    >>> krippendorff_alpha([[1, 2, 3, None], [1, 2, 2, 3]])
    0.5454545454545454
    >>> round(krippendorff_alpha({"id": [7, 8, 9], "ann": [1, 2, 8], "bob": [1, 2, 9]}, level="interval"), 4)
    0.9875

    Raises ``OptionError`` for an unknown level, a level that these ratings do not support, and an order that lacks a
    rating, ``InputError`` for columns of different length, and ``ColumnError`` for columns that contain neither numbers
    nor text.
    """
    if level not in get_args(Level):
        raise OptionError(Argument("level", level), f": expected one of {', '.join(get_args(Level))}")
    rated = read_ratings(ratings, order, raters)
    if level not in _levels(rated):
        raise OptionError(
            Argument("level", level), ": words need the nominal level, or the ordinal level with ", *_ORDER
        )
    alpha = alpha_of(rated, level, is_asked_influence=False)
    return math.nan if alpha is None else alpha.value


@dataclass(frozen=True)
class PairAgreement:
    """Cohen's kappa of two raters over the ``n`` units that both rated; NaN if undefined."""

    first: str
    second: str
    n: int
    kappa: Estimate = UNDEFINED
    kappa_linear: Estimate = UNDEFINED
    kappa_quadratic: Estimate = UNDEFINED


@dataclass(frozen=True)
class Agreement(NotebookTables):
    """Agreement of raters: kappa of each pair, and Krippendorff's alphas.

    Figures that the ratings do not support are NaN: weighted kappas and the ordinal alpha of words without an order,
    and the interval alpha of words.
    """

    n_units: int
    pairs: Sequence[PairAgreement]
    alpha_nominal: Estimate = UNDEFINED
    alpha_ordinal: Estimate = UNDEFINED
    alpha_interval: Estimate = UNDEFINED

    def grids(self) -> Sequence[Grid]:
        """The alphas with their intervals, and the kappas of each pair of raters."""
        kappas = [(name, f"{name}.value") for name in KAPPAS]
        return [*super().grids(), lines_of(self.pairs, "first", "second", "n", *kappas, labels=2)]

    @property
    def figures(self) -> dict[str, float]:
        """The values by name; the kappa of the first and the third rater is ``kappa_1_3``."""
        alphas = {"n_units": float(self.n_units)} | {name: getattr(self, name).value for name in ALPHAS}
        raters = list(dict.fromkeys(name for pair in self.pairs for name in (pair.first, pair.second)))
        for pair in self.pairs:
            both = f"{raters.index(pair.first) + 1}_{raters.index(pair.second) + 1}"
            alphas |= {f"{kind}_{both}": getattr(pair, kind).value for kind in KAPPAS}
        return alphas


def agreement(
    ratings: Any,
    *,
    order: Sequence[Any] | None = None,
    raters: Sequence[str] | str | None = None,
    confidence: float | None = 0.95,
    clusters: Any = None,
) -> Agreement:
    """Agreement between raters, with ratings as in :func:`krippendorff_alpha`.

    ``n_units`` is the number of units with two ratings or more.  Each figure has its confidence interval over units, or
    over ``clusters`` of dependent units, a column with the cluster of each unit: Student's t on Fisher's scale artanh,
    with the standard error of the delta method and degrees of freedom that count how many units carry it.  One more
    unit, spread over all pairs of ratings, takes part in it, so that it holds for rare ratings (docs/judges.md).
    ``confidence=None`` leaves intervals out.

    >>> agreement({"ann": [1, 0, 1, 1], "bob": [1, 0, 0, 1]}).pairs[0].kappa.value
    0.5

    Raises the errors of :func:`krippendorff_alpha`.
    """
    if confidence is not None:
        argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    table = read_ratings(ratings, order, raters)
    rated = table.codes >= 0
    groups = None if clusters is None else group_numbers(as_array(clusters, "clusters"), "column 'clusters'")
    if groups is not None and len(groups) != len(rated):
        raise InputError(f"there are {len(rated):,} units, but ", Argument("clusters"), f" has {len(groups):,}")
    pairs = []
    for (i, first), (j, second) in itertools.combinations(enumerate(table.names), 2):
        both = rated[:, [i, j]].all(axis=1)
        weighed = _pairs_of(table, i, j, None if groups is None else groups[both])
        figures = {}
        for power, name in enumerate(KAPPAS if table.ordered else KAPPAS[:1]):
            value = weighed.alone.kappa(power).value
            interval = UNKNOWN if confidence is None else weighed.kappa(power).interval(value, confidence)
            figures[name] = Estimate.of(value, interval)
        pairs.append(PairAgreement(first, second, int(both.sum()), **figures))
    alphas = {f"alpha_{level}": _alpha(table, level, confidence, groups) for level in _levels(table)}
    return Agreement(int((rated.sum(axis=1) >= 2).sum()), pairs, **alphas)


def _levels(ratings: Ratings) -> tuple[str, ...]:
    """The levels of measurement that the ratings support."""
    levels: tuple[str, ...] = get_args(Level)
    return levels if ratings.values is not None else levels[: 1 + ratings.ordered]


def _pairs_of(ratings: Ratings, first: int, second: int, clusters: Ints | None = None) -> Pairs:
    """The ratings of two raters of the units that both rated: numbers, or positions on a given scale."""
    codes = ratings.codes[:, [first, second]]
    codes = codes[(codes >= 0).all(axis=1)]
    places = codes.astype(np.float64) if ratings.scaled or ratings.values is None else ratings.values[codes]
    return Pairs.of(places[:, 0], places[:, 1], clusters, one_scale=True)
