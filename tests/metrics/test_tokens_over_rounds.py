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
from fastmetrics.base.column_names import COLUMNS
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
    assert fm.score({"prompt_tokens": [1]}).schema.names == ["prompt_tokens"]
    assert fm.score({"prompt_tokens": [1], "completion_tokens": [2]})["total_tokens"].to_pylist() == [3]


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


def test_csv_accepts_only_numbers(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("prompt_tokens,completion_tokens\n1,2\n,3\n")
    fm.score(file, output=tmp_path / "scores.parquet")
    assert pq.read_table(tmp_path / "scores.parquet")["total_tokens"].to_pylist() == [3, None]


ROWS = {"id": [1, 1, 2], "prompt_tokens": [100, 200, 50], "completion_tokens": [10, 20, 5]}
MEAN = 192.5
rows_of_rounds = st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.none() | counts), max_size=12)


@given(rows_of_rounds, st.booleans())
def test_rows_of_one_id_are_summed(rows, numbered):
    names = [name for name, _ in rows if name is not None]
    table = {"id": pa.array([name for name, _ in rows], pa.string()),
             "total_tokens": pa.array([one for _, one in rows], pa.float64())}  # fmt: skip
    if numbered:
        table["round"] = list(range(len(rows)))
    alone = [[one] for name, one in rows if name is None]
    several = [[one for name, one in rows if name == of] for of in dict.fromkeys(names)]
    answers = [[None if None in own else sum(own)] if numbered else own for own in [*several, *alone]]
    known = [[one for one in own if one is not None] for own in answers]
    means = [np.mean(own) for own in known if own]
    n, n_rows = sum(map(len, known)), sum(map(len, answers))
    found = fm.summarize(table)
    summary = found["total_tokens"]
    assert (summary.n, summary.n_missing) == (n, n_rows - n)
    assert summary.mean == pytest.approx(np.mean(means)) if means else math.isnan(summary.mean)
    assert any("are rounds, which add up" in note for note in found.notes) == (len(set(names)) < len(names))


def test_the_summary_of_rounds_is_that_of_questions(tmp_path):
    rows = {**ROWS, "round": [1, 2, 1]}
    scores = fm.score(rows)
    summary = fm.summarize(scores)
    assert summary.figures["Avg Total Tokens"] == MEAN
    assert (summary["total_tokens"].max, summary["total_tokens"].n, summary.n_rows) == (330, 2, 3)
    names = "prompt_tokens, completion_tokens, total_tokens"
    assert [note.partition(";")[0] for note in summary.notes] == [
        "1 to 2 rounds in the rows of each of 2 questions",
        f"{names}: rows of one id are rounds, which add up: 3 rows are 2 answers",
    ]
    reordered = fm.summarize(scores.take([2, 0, 1]).replace_schema_metadata())
    assert reordered.figures == summary.figures
    fm.score(rows, output=tmp_path / "s.parquet")
    assert fm.summarize(tmp_path / "s.parquet").figures == summary.figures
    stream = pa.RecordBatchReader.from_batches(scores.schema, scores.to_batches(max_chunksize=1))
    assert fm.summarize(stream).figures == summary.figures


@pytest.mark.parametrize("output", ["s.parquet", "s.csv", "s.jsonl"])
def test_the_summary_of_a_run_adds_rounds(tmp_path, output):
    pq.write_table(pa.table({**ROWS, "round": [1, 2, 1]}), tmp_path / "rows.parquet")
    for resume in (False, True):
        done = fm.score(tmp_path / "rows.parquet", output=tmp_path / output, resume=resume)
        assert done.summary.figures["Avg Total Tokens"] == MEAN
        assert any("3 rows are 2 answers" in note for note in done.summary.notes)
    assert fm.summarize(tmp_path / output).figures["Avg Total Tokens"] == MEAN


@pytest.mark.parametrize(("n", "expected"), [(0, math.nan), (1, 110.0), (2, 330.0)])
def test_few_rounds(n, expected):
    rows = {name: pa.array(values[:n], pa.int64()) for name, values in ROWS.items()}
    summary = fm.summarize(fm.score({**rows, "round": list(range(n))}, "total_tokens"))
    assert summary["total_tokens"].mean == pytest.approx(expected, nan_ok=True)
    assert summary["total_tokens"].n == min(n, 1)


def test_repeats_are_not_added():
    table = {"id": [1, 1, 2, 2], "total_tokens": [1.0, 2.0, 3.0, 4.0]}
    summary = fm.summarize(table)
    assert summary["total_tokens"].mean == 2.5
    assert any("taken as answers of their own; a column 'round'" in note for note in summary.notes)
    uneven = {"id": [1, 1, 2], "total_tokens": [1.0, 2.0, 3.0]}
    assert fm.summarize(uneven)["total_tokens"].mean == 2.25
    [change] = fm.compare([uneven, {**uneven, "total_tokens": [1.0, 3.0, 3.0]}])
    assert change.delta == 0.25
    numbered = fm.summarize({**table, "repeat": [1, 2, 1, 2]})
    assert numbered["total_tokens"].mean == 2.5
    assert numbered.notes == ["2 answers to each of 2 questions; a question's score is their mean"]
    assert fm.summarize({**table, "round": [1, 2, 1, 2]})["total_tokens"].mean == 5.0
    both = {"id": [1, 1, 1, 2, 2], "repeat": [1, 1, 2, 1, 2], "total_tokens": [1.0, 2.0, 3.0, 4.0, 5.0]}
    assert fm.summarize(both)["total_tokens"].mean == 3.25
    assert fm.summarize({**both, "round": [1, 2, 1, 1, 1]})["total_tokens"].mean == 15 / 4
    scores = fm.score({"id": [1, 1], "repeat": [1, 2], "total_tokens": [5, 7]})
    assert scores.column_names == ["id", "repeat", "total_tokens"]


def test_prices_add_up_and_latencies_do_not():
    rows = {"id": [1, 1, 2], "round": [1, 2, 1], "cost_usd": [0.1, 0.2, 0.7], "latency_ms": [10.0, 20.0, 30.0]}
    summary = fm.summarize(rows)
    assert summary["cost_usd"].mean == pytest.approx(0.5)
    assert (summary["latency_ms"].mean, summary["latency_ms"].n) == ((15 + 30) / 2, 3)


def test_pooled_files_and_systems_have_rounds_of_their_own(tmp_path):
    for name, factor in (("a", 1), ("b", 2)):
        rows = {**ROWS, "prompt_tokens": [factor * one for one in ROWS["prompt_tokens"]], "round": [1, 2, 1]}
        fm.score(pa.table(rows), "total_tokens", output=tmp_path / f"{name}.parquet")
    pooled = fm.summarize([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    assert (pooled["total_tokens"].n, pooled["total_tokens"].mean) == (4, (330 + 55 + 630 + 105) / 4)
    both = pa.concat_tables(
        pq.read_table(tmp_path / f"{name}.parquet").append_column("system", pa.array([name] * 3)) for name in "ab"
    )
    changes = fm.compare(both, system="system")
    assert changes[0].delta == (630 + 105 - 330 - 55) / 2


@pytest.mark.parametrize("output", ["scores.parquet", "scores.csv"])
def test_systems_in_one_table_are_no_rounds_and_a_note_says_that_they_are_pooled(tmp_path, output):
    rows = [{"id": row, "system": name, "total_tokens": 10} for name, n in (("a", 3), ("b", 2)) for row in range(n)]
    table = pa.Table.from_pylist(rows)
    note = "the rows of 2 systems are pooled (a, b)"
    in_file = fm.score(table, "total_tokens", output=tmp_path / output)
    for found in (in_file.summary, fm.summarize(tmp_path / output), fm.summarize(fm.score(table, "total_tokens"))):
        assert (found["total_tokens"].n, found["total_tokens"].mean) == (5, 10.0)
        assert [one.startswith(note) for one in found.notes] == [True]
    alone = fm.summarize(fm.score(table.slice(0, 3), "total_tokens"))
    assert not alone.notes


def test_segments_and_gates_read_the_sums():
    scores = {**ROWS, "round": [1, 2, 1], "total_tokens": [110.0, 220.0, 55.0], "language": ["ru", "ru", "en"]}
    scores = {name: scores[name] for name in ("id", "round", "total_tokens", "language")}
    means = {one.segment: one.mean for one in fm.results.summarize_by(scores, by="language", metrics="total_tokens")}
    assert means == {None: MEAN, "language=en": 55.0, "language=ru": 330.0}
    assert fm.gate(scores, ["total_tokens <= 192.5 with n >= 2"]).passed
    assert not fm.gate(scores, ["total_tokens <= 192 with n >= 2"]).passed
    table = fm.results.primary_table(scores)
    assert table[0].figures["Tokens"] == MEAN


def test_custom_metric_receives_the_sum():
    @fm.metric(bounds=(0, math.inf), better="lower", name="own_cost")
    def own_cost(prompt_tokens: float) -> float:
        return prompt_tokens * 2

    assert fm.own_cost([[1, 2], [3]]).tolist() == [6, 6]


def test_all_token_columns_accept_amounts():
    assert {name for name, column in COLUMNS.items() if column.kind == "amounts"} >= set(NAMES)
