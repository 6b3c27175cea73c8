"""Scores beside the user's own columns, in the user's own kind of table; the accessor of pandas."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fastmetrics as fm
from tests.scoring.frames.tables import METRICS, ROWS, bits, scores
from tests.support.optional_parts import needs

N = [0, 1, 2, 5]


def rows(n):
    return pa.table(ROWS).slice(0, n)


@pytest.mark.parametrize("n", N)
def test_arrow_tables_and_batches_stay_what_they_are(n):
    table = rows(n)
    batch = table.combine_chunks().to_batches()[0] if n else pa.RecordBatch.from_pylist([], table.schema)
    chunks = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    for each in (table, batch, chunks):
        scored = fm.with_scores(each, METRICS)
        assert type(scored) is type(each)
        assert scored.select(list(ROWS)).to_pydict() == each.to_pydict()
        assert {name: bits(scored[name].to_pylist()) for name in scored.schema.names[5:]} == scores(table)


@pytest.mark.parametrize("n", N)
def test_polars_frames_stay_eager_or_lazy(n):
    frame = pl.DataFrame(ROWS).head(n)
    eager, lazy = fm.with_scores(frame, METRICS), fm.with_scores(frame.lazy(), METRICS)
    assert isinstance(lazy, pl.LazyFrame)
    for scored in (eager, lazy.collect(), lazy.collect(engine="streaming")):
        assert scored[list(ROWS)].equals(frame)
        assert {name: bits(scored[name]) for name in scored.columns[5:]} == scores(frame)


@pytest.mark.parametrize("n", N)
@pytest.mark.parametrize(
    "index", [None, [3, 1, 3, 2, 0], pd.MultiIndex.from_tuples([(1, "a")] * 5, names=["token_f1", None])]
)
def test_pandas_frames_keep_their_index_even_if_it_repeats(n, index):
    frame = pd.DataFrame(ROWS, index=index).head(n)
    before = frame.copy()
    scored = fm.with_scores(frame, METRICS)
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(scored[list(ROWS)], before)
    expected = {
        name: np.array(values, float)
        for name, values in fm.score(frame, METRICS).to_pydict().items()
        if "_" in name and name in scored
    }
    for name, values in expected.items():
        np.testing.assert_array_equal(scored[name].to_numpy(), values)
    assert len(expected) == 4


def test_names_of_pandas_columns_may_have_levels():
    frame = pd.DataFrame({("x", "answer"): ["in Paris"], ("x", "reference"): ["Paris"]})
    columns = {"answer": ("x", "answer"), "reference": ("x", "reference")}
    scored = fm.with_scores(frame, "token_recall", columns=columns)
    assert scored["token_recall"].tolist() == [1.0]


def test_an_index_that_arrow_cannot_hold_stays():
    frame = pd.DataFrame({"answer": ["in Paris", "Rome"], "reference": ["Paris", "Rome"]}, index=[1, "x"])
    scored = fm.with_scores(frame, "token_recall")
    assert scored["token_recall"].to_dict() == {1: 1.0, "x": 1.0}


@pytest.mark.parametrize("n", N)
def test_dicts_and_lists_of_dicts(n):
    columns, dicts = rows(n).to_pydict(), rows(n).to_pylist()
    scored = fm.with_scores(columns, METRICS)
    assert {name: bits(scored[name]) for name in list(scored)[5:]} == scores(rows(n))
    assert {name: scored[name] for name in ROWS} == columns
    if n:
        assert [list(row)[:5] for row in fm.with_scores(dicts, METRICS)] == [list(ROWS)] * n
        assert bits(row["token_f1"] for row in fm.with_scores(dicts, METRICS)) == scores(rows(n))["token_f1"]


def test_keep_all_copies_every_column(tmp_path):
    scored = fm.score(pa.table(ROWS), "token_f1", keep="all")
    assert scored.column_names == [*ROWS, "token_f1"]
    assert scored.select(list(ROWS)).to_pydict() == ROWS
    fm.score(pa.table(ROWS), "token_f1", keep="all", output=tmp_path / "scores.parquet")
    assert pa.parquet.read_table(tmp_path / "scores.parquet").column_names == [*ROWS, "token_f1"]
    named = pa.table({**ROWS, "all": ROWS["user"]})
    assert fm.score(named, "token_f1", keep="all").column_names == ["id", "all", "token_f1"]
    stale = scored.set_column(len(ROWS), "token_f1", pa.array([-1.0] * scored.num_rows))
    assert fm.score(stale, "token_f1", keep="all").equals(scored)


def test_a_score_never_replaces_a_column():
    frame = pl.DataFrame(ROWS)
    twice = fm.with_scores(frame, "token_f1")
    assert fm.with_scores(twice, "token_f1(name='f1')").columns[-1] == "f1"


def test_metrics_of_all_rows_are_added_to_eager_frames():
    spec = "answer_relevance(idf='corpus')"
    assert fm.with_scores(pl.DataFrame(ROWS), spec)[spec].to_list()[0] is not None


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


PAGE = (Path(__file__).parents[3] / "docs" / "data.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.partition("\n## Frames:")[2].partition("\n## ")[0], re.DOTALL)


@pytest.mark.filterwarnings("error::fastmetrics.ScoreWarning")
@pytest.mark.parametrize(
    "code",
    [pytest.param(code, marks=needs("datasets") if "import datasets" in code else ()) for code in EXAMPLES],
    ids=range(len(EXAMPLES)),
)
def test_examples_run(code):
    exec(code, {"frame": pd.DataFrame({"answer": ["in Paris"], "reference": ["Paris"]})})


def test_the_page_has_examples():
    assert len(EXAMPLES) == 6
