"""Agreement of raters: scikit-learn for kappa, a plain coincidence matrix and published figures for alpha."""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from fastmetrics.errors import ColumnError, InputError, OptionError
from fastmetrics.stats.raters import agreement, cohen_kappa, krippendorff_alpha

N = None
PUBLISHED = [  # four observers, twelve units: Krippendorff 2011, section D
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]


def plain_alpha(ratings: list[list[float | None]], level: str) -> float:
    units = [[value for value in unit if value is not None] for unit in zip(*ratings, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    coincidences: Counter[tuple[float, float]] = Counter()
    for unit in units:
        for i, j in itertools.permutations(range(len(unit)), 2):
            coincidences[unit[i], unit[j]] += 1 / (len(unit) - 1)
    sizes = Counter(value for unit in units for value in unit)
    n = sum(sizes.values())

    def difference(a: float, b: float) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        between = sum(sizes[value] for value in sizes if min(a, b) <= value <= max(a, b))
        return (between - (sizes[a] + sizes[b]) / 2) ** 2 if a != b else 0.0

    observed = sum(count * difference(*pair) for pair, count in coincidences.items()) / n if n else 0.0
    expected = sum(sizes[a] * sizes[b] * difference(a, b) for a, b in itertools.permutations(sizes, 2))
    return 1 - observed / (expected / (n * (n - 1))) if expected else math.nan


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_published_alpha(level: str, published: float) -> None:
    assert round(krippendorff_alpha(PUBLISHED, level), 3) == published
    assert krippendorff_alpha(PUBLISHED, level) == pytest.approx(plain_alpha(PUBLISHED, level), rel=1e-12)


RATINGS = st.integers(1, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.one_of(st.none(), st.sampled_from([-2.0, 0.0, 1.0, 1.5, 7.0])), min_size=raters, max_size=raters),
        max_size=12,
    ).map(lambda units: [list(column) for column in zip(*units, strict=True)] or [[]] * raters)
)


@given(RATINGS, st.sampled_from(["nominal", "ordinal", "interval"]))
@settings(max_examples=200, deadline=None)
def test_alpha_is_that_of_the_coincidence_matrix(ratings: list[list[float | None]], level: str) -> None:
    assert krippendorff_alpha(ratings, level) == pytest.approx(plain_alpha(ratings, level), abs=1e-9, nan_ok=True)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=30))
@settings(max_examples=150, deadline=None)
@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_kappa_is_scikit_learns(weights: str, pairs: list[tuple[int, int]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found = cohen_kappa(first, second, weights)
    if len(set(first + second)) < 2:
        assert math.isnan(found)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = cohen_kappa_score(first, second, weights=None if weights == "none" else weights)
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_kappa_of_units_that_both_rated() -> None:
    assert cohen_kappa([1, 0, None, 1.0], [1, 0, 1, math.nan]) == 1.0
    assert math.isnan(cohen_kappa([], []))
    assert cohen_kappa(["good", "bad", "good", "bad"], ["good", "bad", "bad", "bad"]) == 0.5


def test_categories_only_one_rater_skipped_do_not_widen_the_scale() -> None:
    assert cohen_kappa([1, 9, 3, 1], [1, None, 1, 3], "linear") == cohen_kappa([1, 3, 1], [1, 1, 3], "linear")


@pytest.mark.parametrize(
    "column",
    [
        np.array([True, False, True]),
        pd.Series([True, False, True]),
        pl.Series([1, 0, 1]),
        pa.chunked_array([[1, 0], [1]]),
        pa.array(["b", "a", "b"]).dictionary_encode(),
        pa.array(["b", "a", "b"], pa.large_string()),
    ],
)
def test_ratings_of_any_kind(column: object) -> None:
    assert krippendorff_alpha([column, column]) == 1.0
    assert cohen_kappa(column, column, "quadratic") == 1.0


def test_agreement_of_three() -> None:
    found = agreement({"a": [1, 2, 3, None], "b": [1, 2, 2, 3], "c": [None, None, None, 1]})
    assert [(pair.first, pair.second, pair.n) for pair in found.pairs] == [("a", "b", 3), ("a", "c", 0), ("b", "c", 1)]
    assert found.n_units == 4
    assert found.pairs[0].kappa_linear == cohen_kappa([1, 2, 3], [1, 2, 2], "linear")
    assert found.alpha_ordinal == krippendorff_alpha([[1, 2, 3, None], [1, 2, 2, 3], [None, None, None, 1]], "ordinal")
    words = agreement({"a": ["x", "y"], "b": ["x", "z"]})
    assert math.isnan(words.alpha_interval)
    assert not math.isnan(words.alpha_nominal)


def test_what_cannot_be_rated_is_refused() -> None:
    with pytest.raises(OptionError, match="weights='cubic'"):
        cohen_kappa([1], [1], "cubic")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="level='ratio'"):
        krippendorff_alpha([[1], [1]], "ratio")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="words are nominal, not ordinal"):
        krippendorff_alpha([["a"], ["b"]], "ordinal")
    with pytest.raises(InputError, match="lengths 1, 2"):
        cohen_kappa([1], [1, 2])
    with pytest.raises(InputError, match="one column for each rater"):
        krippendorff_alpha([])
    with pytest.raises(ColumnError, match="numbers or all give words"):
        cohen_kappa([1], ["a"])
    with pytest.raises(ColumnError, match="not list"):
        cohen_kappa([[1]], [[1]])
