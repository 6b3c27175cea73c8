"""Ratings in tables of any kind, and the scales of words: an alphabet is no order."""

import itertools
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

import fastmetrics as fm
from tests.reference.agreement import krippendorff_alpha as plain

ANN, BOB, CAT = [1, 2, 3, None, 4], [1, 2, 2, 3, 4], [None, None, None, 1, 4]
NAMES = {"ann": ANN, "bob": BOB, "cat": CAT}
LONG = [
    {"unit": unit, "rater": name, "rating": rating}
    for name, ratings in NAMES.items()
    for unit, rating in enumerate(ratings)
    if rating is not None
]

TABLES = {
    "dict": dict(NAMES),
    "dict with ids": {"ID": [7, 8, 9, 10, 11], **NAMES},
    "pandas": pd.DataFrame(NAMES),
    "pandas with an index": pd.DataFrame({"qid": [1, 2, 3, 4, 5], **NAMES}, index=[9, 8, 7, 6, 5]),
    "pandas nullable": pd.DataFrame(NAMES).convert_dtypes(),
    "pandas long": pd.DataFrame(LONG).pivot(index="unit", columns="rater", values="rating"),
    "polars": pl.DataFrame({"query_id": ["a", "b", "c", "d", "e"], **NAMES}),
    "polars lazy": pl.LazyFrame(NAMES),
    "polars long": pl.DataFrame(LONG).pivot("rater", index="unit", values="rating").drop("unit"),
    "arrow": pa.table(NAMES),
    "arrow of pandas": pa.Table.from_pandas(pd.DataFrame(NAMES, index=[0.5, 1.5, 2.5, 3.5, 4.5])),
    "record batch": pa.RecordBatch.from_pydict(NAMES),
    "batches": pa.table(NAMES).to_batches(max_chunksize=2),
    "rows": pl.DataFrame(NAMES).to_dicts(),
    "columns": [ANN, BOB, CAT],
    "array": np.array([ANN, BOB, CAT], float),
    "chunks": [pa.chunked_array([column[:2], column[2:]], pa.int64()) for column in (ANN, BOB, CAT)],
}


@pytest.mark.parametrize("form", sorted(TABLES))
def test_raters_are_the_columns_of_a_table(form):
    found = fm.stats.agreement(TABLES[form])
    for level in ("nominal", "ordinal", "interval"):
        expected = plain([ANN, BOB, CAT], level)
        assert fm.stats.krippendorff_alpha(TABLES[form], level=level) == pytest.approx(expected, abs=1e-12)
        assert getattr(found, f"alpha_{level}").value == pytest.approx(expected, abs=1e-12)
    assert found.n_units == 5
    named = [(pair.first, pair.second) for pair in found.pairs]
    by_place = [f"ratings[{place}]" for place in range(3)]
    assert named == list(itertools.combinations(NAMES if form not in ("columns", "array", "chunks") else by_place, 2))
    assert found.pairs[0].kappa_linear.value == fm.stats.cohen_kappa(ANN, BOB, weights="linear")


def test_raters_can_be_selected_by_name():
    table = {**NAMES, "meta": [{"a": 1}, 1, "x", None, object()], "note": ["a", "b", "c", "d", "e"]}
    assert fm.stats.krippendorff_alpha(table, raters="ann,bob") == fm.stats.krippendorff_alpha([ANN, BOB])
    assert [pair.second for pair in fm.stats.agreement(pd.DataFrame(table), raters=["ann", "cat"]).pairs] == ["cat"]


SCALE = ["poor", "fair", "good", "superb"]
WORDS = st.lists(st.tuples(st.sampled_from(SCALE), st.sampled_from([*SCALE, None])), min_size=1, max_size=20)


@given(WORDS, st.permutations(SCALE))
def test_word_ratings_use_the_given_order(pairs, order):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    both = [(a, b) for a, b in pairs if b is not None]
    for weights in ("none", "linear", "quadratic"):
        found = fm.stats.cohen_kappa(first, second, weights=weights, order=order)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kinds = {a for pair in both for a in pair}
            name = None if weights == "none" else weights
            expected = (
                math.nan if len(kinds) < 2 else cohen_kappa_score(*zip(*both, strict=True), labels=order, weights=name)
            )
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)
    found = fm.stats.agreement({"a": first, "b": second}, order=order)
    assert found.pairs[0].kappa_quadratic.value == pytest.approx(expected, abs=1e-12, nan_ok=True)
    places = [[None if word is None else order.index(word) for word in column] for column in (first, second)]
    assert found.alpha_ordinal.value == pytest.approx(plain(places, "ordinal"), abs=1e-9, nan_ok=True)
    assert math.isnan(found.alpha_interval.value)


def test_weighted_kappa_of_words_needs_an_order():
    first, second = ["good", "poor", "fair"], ["good", "fair", "fair"]
    found = fm.stats.agreement({"a": first, "b": second})
    assert found.pairs[0].kappa.value == fm.stats.cohen_kappa(first, second)
    unknown = [found.pairs[0].kappa_linear.value, found.pairs[0].kappa_quadratic.value]
    unknown += [found.alpha_ordinal.value, found.alpha_interval.value]
    assert all(map(math.isnan, unknown))
    assert not math.isnan(found.alpha_nominal.value)


def test_ordered_categoricals_use_their_own_order():
    first, second = ["good", "poor", "fair", "poor"], ["good", "fair", "fair", "superb"]
    expected = fm.stats.cohen_kappa(first, second, weights="linear", order=SCALE)
    pandas = pd.DataFrame({"a": first, "b": second}, dtype=pd.CategoricalDtype(SCALE, ordered=True))
    polars = pl.DataFrame({"a": first, "b": second}, schema={"a": pl.Enum(SCALE), "b": pl.Enum(SCALE)})
    for table in (pandas, polars, polars.to_arrow()):
        assert fm.stats.agreement(table).pairs[0].kappa_linear.value == expected
        assert fm.stats.cohen_kappa(table["a"], table["b"], weights="linear") == expected
    assert fm.stats.agreement(pandas, order=SCALE[::-1]).pairs[0].kappa_linear.value == pytest.approx(expected)
    unlike = pandas.assign(b=pandas["b"].cat.reorder_categories(SCALE[::-1]))
    loose = pandas.assign(b=pd.Categorical(second))
    for table in (
        unlike,
        loose,
        pl.DataFrame({"a": first, "b": second}, schema={"a": pl.Categorical, "b": pl.Categorical}),
    ):
        assert math.isnan(fm.stats.agreement(table).pairs[0].kappa_linear.value)
    numbers = pd.DataFrame({"a": [3, 1, 2], "b": [3, 2, 2]}, dtype=pd.CategoricalDtype([2, 1, 3], ordered=True))
    assert fm.stats.agreement(numbers).pairs[0].kappa_linear.value == fm.stats.cohen_kappa(
        [3, 1, 2], [3, 2, 2], weights="linear", order=[2, 1, 3]
    )


def test_numeric_ratings_use_the_given_order():
    first, second = [1, 2, 5, 5], [1, 5, 5, 2]
    expected = cohen_kappa_score(first, second, labels=[1, 2, 3, 4, 5], weights="quadratic")
    assert fm.stats.cohen_kappa(first, second, weights="quadratic", order=[1, 2, 3, 4, 5]) == pytest.approx(expected)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_a_grade_that_nobody_gave_keeps_its_place(weights):
    """Whole numbers are their own scale, and so are their halves, tenths and any other unit."""
    first, second = np.array([1, 2, 4, 5, 5]), np.array([2, 2, 5, 5, 4])
    expected = cohen_kappa_score(first, second, labels=[1, 2, 3, 4, 5], weights=weights)
    for unit in (1, 0.5, 0.1, 1e-300, 1e300):
        assert fm.stats.cohen_kappa(unit * first, unit * second, weights=weights) == pytest.approx(expected)
    found = fm.stats.agreement([first, second]).pairs[0]
    assert {"linear": found.kappa_linear, "quadratic": found.kappa_quadratic}[weights].value == pytest.approx(expected)
    validated = fm.validate({"my_grade": first}, second)["my_grade"].agreement
    assert validated is None or validated.pairs[0].kappa_linear.value == found.kappa_linear
