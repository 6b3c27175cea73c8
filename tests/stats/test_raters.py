"""Agreement of raters: scikit-learn for kappa, a plain coincidence matrix and published figures for alpha."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from fastmetrics.stats.raters import agreement, cohen_kappa, krippendorff_alpha
from tests.reference.agreement import krippendorff_alpha as plain

N = None
PUBLISHED = [  # four observers, twelve units: Krippendorff 2011, section D
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_published_alpha_value(level: str, published: float) -> None:
    assert round(krippendorff_alpha(PUBLISHED, level=level), 3) == published
    assert krippendorff_alpha(PUBLISHED, level=level) == pytest.approx(plain(PUBLISHED, level), rel=1e-12)


RATINGS = st.integers(1, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.one_of(st.none(), st.sampled_from([-2.0, 0.0, 1.0, 1.5, 7.0])), min_size=raters, max_size=raters),
        max_size=12,
    ).map(lambda units: [list(column) for column in zip(*units, strict=True)] or [[]] * raters)
)


@given(RATINGS, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_alpha_equals_the_coincidence_matrix_definition(ratings: list[list[float | None]], level: str) -> None:
    expected = plain(ratings, level)
    assert krippendorff_alpha(ratings, level=level) == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert getattr(agreement(dict(enumerate(ratings))), f"alpha_{level}").value == pytest.approx(
        expected, abs=1e-9, nan_ok=True
    )


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=30))
@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_kappa_equals_scikit_learn(weights: str, pairs: list[tuple[int, int]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found = cohen_kappa(first, second, weights=weights)
    if len(set(first + second)) < 2:
        assert math.isnan(found)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = None if weights == "none" else weights
        expected = cohen_kappa_score(first, second, labels=range(5), weights=name)
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_kappa_uses_units_rated_by_both() -> None:
    assert cohen_kappa([1, 0, None, 1.0], [1, 0, 1, math.nan]) == 1.0
    assert math.isnan(cohen_kappa([], []))
    assert cohen_kappa(["good", "bad", "good", "bad"], ["good", "bad", "bad", "bad"]) == 0.5


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
def test_ratings_of_every_type_are_accepted(column: object) -> None:
    assert krippendorff_alpha([column, column]) == 1.0
    assert cohen_kappa(column, column) == 1.0


def test_agreement_of_three_raters() -> None:
    found = agreement({"a": [1, 2, 3, None], "b": [1, 2, 2, 3], "c": [None, None, None, 1]})
    assert [(pair.first, pair.second, pair.n) for pair in found.pairs] == [("a", "b", 3), ("a", "c", 0), ("b", "c", 1)]
    assert found.n_units == 4
    assert found.pairs[0].kappa_linear.value == cohen_kappa([1, 2, 3], [1, 2, 2], weights="linear")
    assert found.alpha_ordinal.value == krippendorff_alpha(
        [[1, 2, 3, None], [1, 2, 2, 3], [None, None, None, 1]], level="ordinal"
    )
