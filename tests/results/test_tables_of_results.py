"""Results as tables: each as a table of Arrow, pandas and Polars, with the columns of segments."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import fastmetrics as fm
from fastmetrics.base.display import Tabular
from fastmetrics.base.notes import Figure
from tests.results.test_notebook_views import RESULTS, result_classes

ROWS = {
    "id": list(range(8)),
    "token_f1": [0.1, 0.5, 0.9, 0.4, 0.2, 0.6, 0.7, 0.3],
    "language": ["en", "ru"] * 4,
    "n": [1, 1, 2, 2] * 2,  # a name that most of the tables have themselves
}
OTHER = {**ROWS, "token_f1": ROWS["token_f1"][::-1]}


def test_every_public_result_is_a_table():
    assert [one.__name__ for one in result_classes() if not issubclass(one, Tabular)] == []


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_the_same_table_everywhere(name: str):
    result = RESULTS[name](3)
    table = result.to_arrow()
    assert (table.num_rows, table.num_columns) == result.to_pandas().shape == result.to_polars().shape
    assert table.column_names == list(result.to_pandas().columns) == result.to_polars().columns
    assert table.num_rows


@pytest.mark.parametrize("name", RESULTS)
def test_the_record_of_a_result_has_rows_of_one_kind(name: str):
    for row in RESULTS[name](3).record():
        assert isinstance(row, Figure)
        assert not row.low > row.value, row
        assert not row.value > row.high, row
        assert (row.kind == "none") == (row.low != row.low and row.high != row.high), row


def test_the_record_of_a_comparison_is_its_differences():
    found = fm.compare({"a": ROWS, "b": OTHER}, metrics="token_f1", by="language")
    rows = [(row.figure, row.system, row.segment, row.value, row.low, row.kind, row.n) for row in found.record()]
    assert rows == [("token_f1", "b", one.segment, one.delta, one.low, one.interval, one.n_paired) for one in found]
    assert list(pd.DataFrame(found.record())) == list(Figure._fields)


SEGMENTED: dict[str, Any] = {
    "summarize_by": lambda: fm.results.summarize_by(ROWS, metrics="token_f1", by=["language", "n"]),
    "compare": lambda: fm.compare({"a": ROWS, "b": OTHER}, metrics="token_f1", by=["language", "n"]),
    "classification": lambda: fm.classification(
        {**ROWS, "label": list("aabbaabb"), "expected_label": list("abababab")}, by=["language", "n"]
    ),
    "gate": lambda: fm.gate(ROWS, ["token_f1 >= 0.1", "token_f1 >= 0.1 where language=*, n=* with n >= 2"]),
    "judge_report": lambda: fm.judge_report(
        {**ROWS, "judge_x": ROWS["token_f1"], "judge_x_status": ["ok"] * 8}, by=["language", "n"]
    ),
}


@pytest.mark.parametrize("name", SEGMENTED)
def test_segments_are_a_column_each(name: str):
    rows = SEGMENTED[name]().to_arrow().to_pylist()
    assert {row["segment"] for row in rows} == {None} | {
        f"language={language}, n={n}" for language in ("en", "ru") for n in (1, 2)
    }
    number = "n" if name == "compare" else "by_n"
    for row in rows:
        if row["segment"] is None:
            assert (row["language"], row[number]) == (None, None)
        else:
            assert row["segment"] == f"language={row['language']}, n={row[number]}"


def test_figures_with_an_interval_are_three_columns():
    [row] = fm.results.estimate([1, 0, 1, 1], [1, 0, None, None]).to_arrow().to_pylist()
    found = fm.results.estimate([1, 0, 1, 1], [1, 0, None, None]).powered
    assert (row["powered"], row["powered_low"], row["powered_high"]) == (found.value, found.low, found.high)
