"""How far several people, or a judge and people, agree: Cohen's κ and Krippendorff's α."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fastmetrics.errors import ColumnError, InputError, OptionError

Weights = Literal["none", "linear", "quadratic"]
Level = Literal["nominal", "ordinal", "interval"]


def cohen_kappa(first: Any, second: Any, weights: Weights = "none") -> float:
    """Cohen's kappa of two raters: κ = 1 − Σ w·observed / Σ w·expected over the pairs of categories.

    A disagreement between the i-th and the j-th category in use, in ascending order, weighs 1, ``linear`` |i − j| or
    ``quadratic`` (i − j)².  Units that either rater left out (null, NaN) do not count.  NaN if no disagreement could be
    expected (a single category) or no unit is left.  Source: Cohen 1960 and 1968, as in scikit-learn.

    >>> cohen_kappa([1, 1, 0, 0], [1, 0, 0, 0])
    0.5

    Raises ``OptionError`` for unknown weights, ``InputError`` for columns of different length, and ``ColumnError``
    for columns that are neither numbers nor text.
    """
    if weights not in get_args(Weights):
        raise OptionError(f"weights={weights!r}: {', '.join(get_args(Weights))} were expected")
    codes, _ = _coded([first, second])
    codes = codes[(codes >= 0).all(axis=1)]
    used, codes = np.unique(codes, return_inverse=True)
    a, b = codes.reshape(-1, 2).T
    count_a, count_b = (np.bincount(side, minlength=len(used)).tolist() for side in (a, b))
    n, places = len(a), range(len(used))
    if weights == "none":
        observed = int((a != b).sum())
        expected = n * n - sum(x * y for x, y in zip(count_a, count_b, strict=True))
    elif weights == "linear":  # |i − j| counts the boundaries between i and j
        observed = int(abs(a - b).sum())
        upto = zip(itertools.accumulate(count_a), itertools.accumulate(count_b), strict=True)
        expected = sum(x * (n - y) + y * (n - x) for x, y in upto)
    else:
        observed = int(((a - b) ** 2).sum())
        (sum_a, sum_b) = (sum(i * count[i] for i in places) for count in (count_a, count_b))
        expected = n * sum(i * i * (count_a[i] + count_b[i]) for i in places) - 2 * sum_a * sum_b
    return (expected - n * observed) / expected if expected else math.nan


def krippendorff_alpha(ratings: Sequence[Any], level: Level = "nominal") -> float:
    """Krippendorff's alpha of any number of raters: α = 1 − observed disagreement / expected disagreement.

    ``ratings`` holds one column per rater; null and NaN mean not rated, and a unit with fewer than two ratings does
    not count.  Two ratings differ by 1 (``nominal``), by the square of the number of ratings between them, their own
    counted half (``ordinal``), or by the square of their difference (``interval``).  NaN if all ratings are alike.
    Source: Krippendorff 2011, Computing Krippendorff's alpha-reliability.

    >>> krippendorff_alpha([[1, 2, 3, None], [1, 2, 2, 3]])
    0.5454545454545454

    Raises ``OptionError`` for an unknown level or one that text does not have, ``InputError`` for columns of different
    length, and ``ColumnError`` for columns that are neither numbers nor text.
    """
    if level not in get_args(Level):
        raise OptionError(f"level={level!r}: {', '.join(get_args(Level))} were expected")
    codes, values = _coded(ratings)
    if values is None and level != "nominal":
        raise OptionError(f"ratings in words are nominal, not {level}")
    codes = codes[(codes >= 0).sum(axis=1) >= 2]
    units, raters = np.nonzero(codes >= 0)
    used, flat = np.unique(codes[units, raters], return_inverse=True)
    if len(used) < 2:
        return math.nan
    sizes, n = np.bincount(units), len(flat)
    counts = np.bincount(flat)
    if level == "nominal":
        cells, times = np.unique(units * len(used) + flat, return_counts=True)
        within = sizes**2 - np.bincount(cells // len(used), times.astype(np.float64) ** 2)
        between = float(n) ** 2 - float((counts.astype(np.float64) ** 2).sum())
    else:
        ranks = np.cumsum(counts) - counts / 2  # the distance between two of them is the ordinal one
        scale = ranks if level == "ordinal" or values is None else values[used]
        rated = (scale - scale @ counts / n)[flat]
        within = sizes * np.bincount(units, rated**2) - np.bincount(units, rated) ** 2
        between = n * float((rated**2).sum()) - float(rated.sum()) ** 2
        within, between = 2 * within, 2 * between
    return 1.0 - (n - 1) * float((within / (sizes - 1)).sum()) / between


@dataclass(frozen=True)
class PairAgreement:
    """Cohen's kappa of two raters over the ``n`` units that both rated; NaN where undefined."""

    first: str
    second: str
    n: int
    kappa: float
    kappa_linear: float
    kappa_quadratic: float


@dataclass(frozen=True)
class Agreement:
    """How far raters agree: kappa of each pair, and Krippendorff's alphas; those that words do not have are NaN."""

    n_units: int
    pairs: Sequence[PairAgreement]
    alpha_nominal: float
    alpha_ordinal: float
    alpha_interval: float


def agreement(ratings: Mapping[str, Any]) -> Agreement:
    """How far the raters, a column each, agree; ``n_units`` is the number of units with two ratings or more.

    >>> agreement({"ann": [1, 0, 1, 1], "bob": [1, 0, 0, 1]}).pairs[0].kappa
    0.5

    Raises the errors of :func:`cohen_kappa`.
    """
    codes, values = _coded(list(ratings.values()))
    pairs = [
        PairAgreement(
            first,
            second,
            int(((codes[:, i] >= 0) & (codes[:, j] >= 0)).sum()),
            *(cohen_kappa(ratings[first], ratings[second], weights) for weights in get_args(Weights)),
        )
        for (i, first), (j, second) in itertools.combinations(enumerate(ratings), 2)
    ]
    columns = list(ratings.values())
    alphas = [
        math.nan if values is None and level != "nominal" else krippendorff_alpha(columns, level)
        for level in get_args(Level)
    ]
    return Agreement(int(((codes >= 0).sum(axis=1) >= 2).sum()), pairs, *alphas)


def _coded(ratings: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Units × raters places among the distinct values in ascending order, −1 for none; the values, if numbers."""
    if not ratings:
        raise InputError("ratings were expected, one column for each rater")
    columns = [_column(column) for column in ratings]
    if len({len(column) for column in columns}) != 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise InputError(f"raters rate the same units, but their columns have lengths {lengths}")
    kinds = {column.type for column in columns if not pa.types.is_null(column.type)} or {pa.float64()}
    if len(kinds) != 1:
        raise ColumnError("all raters give numbers or all give words; these give both")
    kind = kinds.pop()
    flat = pa.concat_arrays([column.cast(kind) for column in columns])
    valid = flat.is_valid().to_numpy(zero_copy_only=False)
    distinct, places = np.unique(flat.drop_null().to_numpy(zero_copy_only=False), return_inverse=True)
    codes = np.full(len(flat), -1, np.int64)
    codes[valid] = places
    return codes.reshape(len(columns), -1).T, distinct if kind == pa.float64() else None


def _column(column: Any) -> pa.Array:
    array = pa.array(column, from_pandas=True) if not isinstance(column, pa.Array | pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if pa.types.is_null(kind):
        return array
    if pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        array = array.cast(pa.float64())
        return pc.if_else(pc.is_nan(array), None, array)
    if is_text(kind):
        return array.cast(pa.string())
    raise ColumnError(f"ratings are numbers or words, not {array.type}")


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
