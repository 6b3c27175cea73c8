"""Missing values as pandas has them: NaN in columns of text, in lists and in records, and columns without any value."""

import numpy as np
import pandas as pd
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError

NAN = float("nan")


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"answer": [NAN, NAN], "reference": ["a", "b"]}),
        pd.DataFrame({"answer": [None, NAN], "reference": ["a", "b"]}),
        {"answer": pd.Series([NAN, NAN]), "reference": ["a", "b"]},
    ],
    ids=["floats", "objects", "series"],
)
def test_columns_without_any_text_are_missing(table):
    assert fm.score(table, "token_f1")["token_f1"].to_pylist() == [None, None]
    assert np.isnan(fm.token_f1(table["answer"], table["reference"])).all()


def test_frames_without_rows_have_no_scores():
    assert fm.score(pd.DataFrame({"answer": [], "reference": []}), "token_f1")["token_f1"].to_pylist() == []


def test_nan_among_the_texts_of_records_and_lists_is_missing():
    frame = pd.DataFrame({"answer": ["a", NAN], "reference": ["a", "b"], "contexts": [["a"], NAN]})
    scores = fm.score(frame.to_dict("records"), "token_f1,overlap_faithfulness")
    assert scores["token_f1"].to_pylist() == [1.0, None]
    assert scores["overlap_faithfulness"].is_null().to_pylist() == [False, True]
    assert fm.token_f1(frame["answer"].tolist(), ["a", "b"]).tolist()[0] == 1.0


def test_numbers_among_texts_are_an_error():
    with pytest.raises(ColumnError, match="row 0 is str, row 1 is float; expected one type"):
        fm.token_f1(["a", 1.5], ["a", "b"])
    assert fm.score({"answer": [1.5, None], "reference": ["1.5", "b"]}, "token_f1")["token_f1"].to_pylist() == [1, None]
    with pytest.raises(ColumnError, match="column 'id': a whole number beyond 64 bits; give such numbers as strings"):
        fm.score({"id": [2**64, 1], "answer": ["a", "b"], "reference": ["a", "b"]}, "token_f1")
