"""Tokens over rounds: from lists, from parts, from rows of one id; in memory and in files."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, InputError
from fastmetrics.base.input_columns import COLUMNS
from tests.reference import latency_and_cost as oracle

counts = st.none() | st.integers(0, 10**9)
amounts = st.none() | st.lists(counts, max_size=4)
NAMES = ("total_tokens", "prompt_tokens", "completion_tokens")
LISTS = [[1, 2], [3], [], None, [4, None], [None], [5, 6, 7]]
SUMS = [3, 3, None, None, None, None, 18]


def nulls(values):
    return [None if math.isnan(value) else value for value in values]


@given(st.lists(st.tuples(amounts, amounts, amounts), min_size=1, max_size=8))
def test_token_lists_are_summed(rows):
    given = {
        name: pa.array(column, pa.list_(pa.int64()))
        for name, column in zip(NAMES, zip(*rows, strict=True), strict=True)
    }
    assert nulls(fm.total_tokens(**given).tolist()) == [oracle.total_tokens(*row) for row in rows]
    assert fm.score(given, "total_tokens")[0].to_pylist() == [oracle.total_tokens(*row) for row in rows]


@given(st.lists(st.tuples(counts, counts, counts), min_size=1, max_size=8))
def test_single_numbers_count_as_one_round(rows):
    given = {name: pa.array(column, pa.int64()) for name, column in zip(NAMES, zip(*rows, strict=True), strict=True)}
    assert nulls(fm.total_tokens(**given).tolist()) == [oracle.total_tokens(*row) for row in rows]


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.int32()), pa.large_list(pa.float64()), pa.list_(pa.uint8()), pa.list_(pa.decimal128(9, 2))],
    ids=str,
)
@pytest.mark.parametrize("name", NAMES)
def test_every_list_type_is_accepted(kind, name):
    column = pa.array(LISTS, kind)
    other = {} if name == "total_tokens" else {"completion_tokens": [0] * 7, "prompt_tokens": [0] * 7, name: column}
    for array in (column, pa.concat_arrays([column, column]).slice(7)):
        assert nulls(getattr(fm, name)(array).tolist()) == SUMS
    assert nulls(fm.total_tokens(**(other or {name: column})).tolist()) == SUMS


def test_fixed_size_lists_are_summed():
    pairs = pa.array([[1, 2], None, [3, None], [4, 5]], pa.list_(pa.int64(), 2))
    assert nulls(fm.prompt_tokens(pairs).tolist()) == [3, None, None, 9]
    assert fm.prompt_tokens(np.array([[1, 2], [3, 4]])).tolist() == [3, 7]


def test_round_with_null_makes_total_missing():
    """A sum without it would be too small, and fewer tokens are better."""
    summary = fm.summarize(fm.score({"prompt_tokens": LISTS, "completion_tokens": LISTS}, "total_tokens"))
    assert (summary["total_tokens"].n, summary["total_tokens"].n_missing) == (3, 4)
    assert summary.figures["Avg Total Tokens"] == (6 + 6 + 36) / 3


def test_total_tokens_needs_prompt_and_completion_tokens():
    message = "'total_tokens', or 'prompt_tokens' and 'completion_tokens'"
    with pytest.raises(ColumnError, match=f"total_tokens needs the column {message}"):
        fm.score({"prompt_tokens": [1]}, "total_tokens")
    with pytest.raises(TypeError, match=message):
        fm.total_tokens(prompt_tokens=[1])
    assert fm.score({"prompt_tokens": [1]}).schema.names == ["prompt_tokens"]
    assert fm.score({"prompt_tokens": [1], "completion_tokens": [2]})["total_tokens"].to_pylist() == [3]


def test_text_amounts_raise():
    for column in (["a"], [["a"]], [[[1]]]):
        with pytest.raises(ColumnError, match="'prompt_tokens': expected numbers"):
            fm.prompt_tokens(column)


@pytest.mark.parametrize("form", ["parquet", "arrow", "jsonl"])
def test_files_with_token_lists_are_scored(tmp_path, form):
    table = pa.table({"prompt_tokens": LISTS, "completion_tokens": [1] * 7})
    file, out = tmp_path / f"rows.{form}", tmp_path / "scores.parquet"
    if form == "parquet":
        pq.write_table(table, file)
    elif form == "arrow":
        with pa.ipc.new_file(file, table.schema) as sink:
            sink.write_table(table)
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    fm.score(file, output=out)
    expected = [None if one is None else one + 1 for one in SUMS]
    assert pq.read_table(out)["total_tokens"].to_pylist() == expected


@pytest.mark.parametrize("late", [[7, [1, 2]], [[1, 2], 7], [None, 7, [1, 2]], [7] * 3000 + [[1, 2]]])
def test_json_lines_can_mix_numbers_and_lists(tmp_path, late):
    """Whichever comes first, and however late the other."""
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps({"total_tokens": one}) + "\n" for one in late))
    fm.score(file, output=tmp_path / "scores.parquet")
    found = pq.read_table(tmp_path / "scores.parquet")["total_tokens"].to_pylist()
    assert found == [oracle.amount(one) for one in late]


@pytest.mark.parametrize("value", ["many", [["7"]], {"a": 1}, True, ["many"], [True]])
def test_json_lines_error_names_invalid_amount(tmp_path, value):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"total_tokens": 1}\n' + json.dumps({"total_tokens": value}) + "\n")
    with pytest.raises(InputError, match=r"rows.jsonl, line 2.*total_tokens.*expected a number"):
        fm.score(file, output=tmp_path / "scores.parquet", metrics="total_tokens")


def test_csv_accepts_only_numbers(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("prompt_tokens,completion_tokens\n1,2\n,3\n")
    fm.score(file, output=tmp_path / "scores.parquet")
    assert pq.read_table(tmp_path / "scores.parquet")["total_tokens"].to_pylist() == [3, None]


rounds = st.lists(st.tuples(st.none() | st.sampled_from(["a", "b", "c"]), counts | amounts.filter(bool)), max_size=12)


@given(rounds)
def test_rows_with_the_same_id_are_summed(rows):
    ids = [name for name, _ in rows]
    given = pa.array([[one] if isinstance(one, int) else one for _, one in rows], pa.list_(pa.int64()))
    found = fm.tokens_by_id(pa.array(ids, pa.string()), total_tokens=given).to_pylist()
    expected = [
        {
            "id": name,
            "rounds": ids.count(name),
            "total_tokens": oracle.amount([oracle.amount(one) for own, one in rows if own == name]),
        }
        for name in dict.fromkeys(ids)
        if name is not None
    ]
    assert found == expected


def test_rows_with_the_same_id_need_equal_column_lengths():
    with pytest.raises(ColumnError, match="2 ids, 1 prompt_tokens"):
        fm.tokens_by_id([1, 2], prompt_tokens=[1], completion_tokens=[1, 2])
    with pytest.raises(ColumnError, match="tokens_by_id needs the column 'total_tokens', or"):
        fm.tokens_by_id([1, 2], prompt_tokens=[1, 2])
    assert fm.tokens_by_id([], total_tokens=[]).num_rows == 0


def test_custom_metric_receives_the_sum():
    @fm.metric(bounds=(0, math.inf), better="lower", name="own_cost")
    def own_cost(prompt_tokens: float) -> float:
        return prompt_tokens * 2

    assert fm.own_cost([[1, 2], [3]]).tolist() == [6, 6]


def test_all_token_columns_accept_amounts():
    assert {name for name, column in COLUMNS.items() if column.kind == "amounts"} == set(NAMES)
