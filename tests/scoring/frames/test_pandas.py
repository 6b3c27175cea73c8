"""pandas: the accessor ``fm``, whose results keep the index."""

import numpy as np
import pandas as pd
import pytest

import fastmetrics as fm
from tests.scoring.frames.tables import METRICS, ROWS

fm.pandas.register()


@pytest.mark.parametrize("index", [None, [5, 4, 4, 2, 1], list("vwxyz")])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_results_keep_the_index(index, n):
    fm.pandas.register()  # a second call changes nothing
    frame = pd.DataFrame(ROWS, index=index).head(n)
    scored = frame.fm.score(METRICS)
    assert scored.index.equals(frame.index)
    pd.testing.assert_frame_equal(scored, fm.score(frame, METRICS).to_pandas())
    f1 = frame.fm.token_f1("answer", "reference")
    assert f1.index.equals(frame.index)
    assert f1.name == "token_f1"
    np.testing.assert_array_equal(f1.to_numpy(), fm.token_f1(frame["answer"], frame["reference"]))
    np.testing.assert_array_equal(frame.fm.token_f1().to_numpy(), f1.to_numpy())
    assert list(frame.fm.with_scores("token_f1").columns) == [*ROWS, "token_f1"]


def test_columns_by_name_and_options():
    frame = pd.DataFrame(ROWS)
    squad = frame.fm.squad_f1(answer="answer", reference="reference", version=2)
    assert squad.name == "squad_f1(version=2)"
    with pytest.raises(TypeError, match=r"token_f1\(\) needs the columns reference"):
        frame.drop(columns="reference").fm.token_f1()
    with pytest.raises(AttributeError, match="no attribute 'token_f2'"):
        _ = frame.fm.token_f2


def test_a_column_whose_name_repeats_is_an_error():
    frame = pd.DataFrame([["in Paris", "Paris", "Rome"]], columns=["answer", "reference", "reference"])
    with pytest.raises(fm.errors.ColumnError, match="the table has 2 columns 'reference'"):
        frame.fm.token_f1("answer", "reference")
    assert frame.set_axis(["answer", "x", "x"], axis=1).fm.politeness("answer").tolist() == [0.0]
