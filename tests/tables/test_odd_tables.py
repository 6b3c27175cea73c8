"""Tables and arguments that people hand to the functions by mistake: each is refused by name, none with a riddle."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, InputError, OptionError

TWICE = pa.table([pa.array(["a"])] * 3, names=["answer", "answer", "reference"])
NUMBERED = pd.DataFrame([["in Paris", "Paris"]])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (["a", 5], "expected a table, a list of dicts or a list of record batches, got a list with a str"),
        ([{"answer": "a"}, None], "a list of record batches, got a list with a NoneType"),
        (TWICE, "the table has 2 columns 'answer'"),
        (TWICE.to_pandas(), "the table has 2 columns 'answer'"),
        ((row for row in ({"answer": "a"}, 5)), "a list of record batches, got a generator with a int"),
        (5, "expected a table, got a value of type int$"),
        (b"answers.parquet", "expected a table, got a value of type bytes$"),
        (pl.Series(["a"]), "expected a table, got a value of type Series"),
        (
            {"answer": 5, "reference": ["a"]},
            "column 'answer': expected one value per row, got a single int; wrap it in a list",
        ),
    ],
)
def test_invalid_tables_raise(table, message):
    with pytest.raises(ColumnError, match=message):
        fm.score(table, ["token_f1"])


def test_single_reference_among_lists_is_a_list_of_one(tmp_path):
    rows = [{"answer": "a", "reference": one} for one in ("a", ["b", "a"], None, [])]
    expected = [1.0, 1.0, None, None]
    assert fm.score(rows, ["token_f1"])["token_f1"].to_pylist() == expected
    assert fm.score(pd.DataFrame(rows), ["token_f1"])["token_f1"].to_pylist() == expected
    with pytest.raises(ColumnError, match="row 0 is str, row 1 is int; expected one type"):
        fm.token_f1(["a", 1], ["a", "b"])
    for wrong in ([["a", 1]], ["a", ["b", 1]]):
        with pytest.raises(ColumnError, match="column 'reference': "):
            fm.token_f1(["a"] * len(wrong), wrong)


def test_pandas_columns_with_numeric_names():
    made = fm.score(NUMBERED, ["token_f1"], columns={"answer": 0, "reference": 1})
    assert made["token_f1"].to_pylist() == [pytest.approx(2 / 3)]
    with pytest.raises(ColumnError, match=r"expected \{canonical: yours\}"):
        fm.score(NUMBERED, ["token_f1"], columns=["answer"])


def test_invalid_columns_raise():
    with pytest.raises(TypeError, match=r"token_f1\(\) needs the columns reference"):
        fm.token_f1(["a"], None)
    with pytest.raises(ColumnError, match="column 'contexts': expected one value per row, got a single NoneType"):
        fm.scoring.anchors(["a"], None)


def test_string_option_equals_list_of_one_name(tmp_path):
    assert list(fm.rouge(["a"], ["a"], types="rougeL")) == ["rougeL_precision", "rougeL_recall", "rougeL_f1"]
    scores, labels = {"id": [1, 2, 3], "fit": [0.1, 0.2, 0.3]}, {"id": [3, 2, 1], "ann": [1, 1, 0]}
    assert list(fm.validate(scores, labels, metrics="fit", raters="ann")) == ["fit"]
    assert fm.grounding_overlap(["Paris [1]."], [["Paris"]], cache=tmp_path / "cache").tolist() == [1.0]


def test_pandas_row_labels_are_not_scores():
    frame = pd.DataFrame({"fit": [0.5, np.nan]}, index=[3.5, 4.5])
    assert list(fm.summarize(frame)) == ["fit"]
    labels = pd.DataFrame({"label": [9, 0, 1]}, index=[5, 7, 6])
    assert fm.validate({"fit": [0.1, 0.2]}, labels[labels["label"] < 9]).label == "label"


def test_scores_and_labels_without_common_ids_raise():
    with pytest.raises(InputError, match="share no 'id'; the scores have for example 'q1', the labels '1'"):
        fm.validate({"id": ["q1", "q2"], "fit": [0.1, 0.2]}, {"id": [1, 2], "label": [0, 1]})
    with pytest.raises(ColumnError, match=r"no column of scores \(numbers or booleans\) among id, why"):
        fm.validate({"id": [0, 1], "why": ["a", "b"]}, [0, 1])


def test_invalid_k_raises():
    for wrong in (1.5, 0):
        with pytest.raises(OptionError, match=f"k={wrong}: expected a whole number from 1 to 100,000"):
            fm.retrieval.match_faq(["a"], ["a"], k=wrong)
