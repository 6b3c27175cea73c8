"""What is counted of every metric's rows: before and after a null, a filter, another order, parts and a second call."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.metrics.metric import REGISTRY
from tests.support.every_metric import CASES, columns
from tests.support.program import jsonl

ROWS = 24
NAMES = sorted(CASES)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Rows with all columns that metrics read, some of their cells null."""
    cells = {column: values for name in NAMES for column, values in columns(name, ROWS).items()}
    return pa.table({"id": [f"q{row}" for row in range(ROWS)], **cells})


@pytest.fixture(scope="module")
def scores(table: pa.Table) -> pa.Table:
    return fm.score(table, NAMES)


def counted(summary: Any) -> dict[str, tuple[int, ...]]:
    """Of each metric the rows with a score, without one, and with an undefined one, as it is where a row is unread."""
    return {name: (one.n, one.n_missing, one.n_undefined + one.n_unread) for name, one in summary.metrics.items()}


def of_columns(scores: pa.Table) -> dict[str, tuple[int, ...]]:
    """The same, counted here."""
    columns = {name: scores[name].to_pylist() for name in NAMES}
    undefined = {name: sum(one is not None and math.isnan(one) for one in cells) for name, cells in columns.items()}
    return {
        name: (len(cells) - cells.count(None) - undefined[name], cells.count(None), undefined[name])
        for name, cells in columns.items()
    }


def same(one: pa.Table, other: pa.Table) -> list[str]:
    """The metrics whose scores differ by a bit."""
    return [name for name in NAMES if str(one[name].to_pylist()) != str(other[name].to_pylist())]


def test_rows_with_a_score_without_one_and_undefined_ones_are_all_rows(scores: pa.Table) -> None:
    found = fm.summarize(scores)
    assert counted(found) == of_columns(scores)
    assert {sum(counts) for counts in counted(found).values()} == {ROWS}
    for name in NAMES:
        known = [one for one in scores[name].to_pylist() if one is not None and not math.isnan(one)]
        assert found[name].mean == pytest.approx(math.fsum(known) / len(known) if known else math.nan, nan_ok=True), (
            name
        )


@pytest.mark.parametrize("part", range(4))
def test_a_null_takes_a_row_from_those_with_a_score_and_leaves_the_others(table: Any, scores: Any, part: int) -> None:
    """One row loses its cell in each column that a metric requires, one column after the other."""
    row, keep = 11, pa.array([at != 11 for at in range(ROWS)])
    for column in sorted({column for name in NAMES for column in REGISTRY[name].required})[part::4]:
        at = table.schema.get_field_index(column)
        lacking = pa.compute.if_else(keep, table[column], pa.scalar(None, table[column].type))
        names = [name for name in NAMES if column in REGISTRY[name].required]
        found = fm.score(table.set_column(at, column, lacking), names)
        for name in names:
            before, after = scores[name].to_pylist(), found[name].to_pylist()
            assert after[row] is None, (name, column)
            assert str(after[:row] + after[row + 1 :]) == str(before[:row] + before[row + 1 :]), (name, column)
            change = np.subtract(counted(fm.summarize(found))[name], of_columns(scores)[name])
            assert change[1] == int(before[row] is not None), (name, column)
            assert change.sum() == 0, (name, column)


@pytest.mark.parametrize("kept", [0, 1, ROWS // 2, ROWS - 1, ROWS])
def test_a_filter_counts_what_is_left(scores: pa.Table, kept: int) -> None:
    left = scores.take(np.random.default_rng(kept).permutation(ROWS)[:kept])
    found = fm.summarize(left)
    assert found.n_rows == kept
    assert counted(found) == of_columns(left)


@pytest.mark.parametrize("order", ["turned", "drawn"])
def test_the_order_of_rows_and_of_metrics_changes_nothing(table: pa.Table, scores: pa.Table, order: str) -> None:
    places = np.arange(ROWS)[::-1] if order == "turned" else np.random.default_rng(1).permutation(ROWS)
    found = fm.score(table.take(places), NAMES[::-1])
    assert [name for name in found.column_names if name in NAMES] == NAMES[::-1]
    assert same(found, scores.take(places)) == []
    assert counted(fm.summarize(found)) == of_columns(scores)


def test_parts_are_added_up_and_a_second_call_counts_once(tmp_path: Path, table: pa.Table, scores: pa.Table) -> None:
    parts = [scores.slice(0, 5), scores.slice(5, 0), scores.slice(5)]
    assert counted(fm.summarize(parts)) == of_columns(scores)
    names = ["token_f1", "ndcg", "latency_ms", "hallucination", "total_tokens"]
    rows = jsonl(tmp_path / "rows.jsonl", *table.to_pylist())
    output, files = tmp_path / "s.parquet", fm.tables.FileSettings(batch_rows=7)
    expected = {name: of_columns(scores)[name] for name in names}
    for at, part in enumerate((table.slice(0, 5), table.slice(5))):
        fm.score(jsonl(tmp_path / "part.jsonl", *part.to_pylist()), names, output=tmp_path / f"{at}.parquet")
    assert counted(fm.summarize([tmp_path / "0.parquet", tmp_path / "1.parquet"])) == expected
    for call in ({}, {"resume": True}, {"resume": True}, {"overwrite": True, "threads": 3}):
        run = fm.score(rows, names, output=output, files=files, **call)
        assert (run.rows, run.rejected, run.summary.n_rows) == (ROWS, 0, ROWS), call
        assert counted(run.summary) == counted(fm.summarize(output)) == expected, call


@pytest.mark.parametrize("bad", [[0], [11], [ROWS - 1], [3, 4, 20]])
def test_rows_that_cannot_be_read_are_counted_apart(
    tmp_path: Path, table: pa.Table, scores: pa.Table, bad: list[int]
) -> None:
    names = ["token_f1", "ndcg", "latency_ms"]
    rows = ["{" if at in bad else row for at, row in enumerate(table.to_pylist())]
    left = scores.take([at for at in range(ROWS) if at not in bad])
    files = fm.tables.FileSettings(on_error="skip", batch_rows=5)
    run = fm.score(jsonl(tmp_path / "rows.jsonl", *rows), names, output=tmp_path / "s.parquet", files=files)
    assert (run.rows, run.rejected, run.summary.n_rows) == (ROWS - len(bad), len(bad), ROWS - len(bad))
    assert counted(run.summary) == {name: of_columns(left)[name] for name in names}
    assert len((tmp_path / "s.parquet.rejects.jsonl").read_text().splitlines()) == len(bad)
