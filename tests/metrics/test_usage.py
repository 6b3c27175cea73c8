"""Tokens, rounds, latency and cost."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from tests.reference import latency_and_cost as oracle
from tests.support.goldens import tables
from tests.support.table_files import write

TABLES = tables("usage")

TOKENS = ("prompt_tokens", "completion_tokens", "total_tokens")
NAN = math.nan


def scored(rows: Any, metrics: Any, **options: Any) -> tuple[dict[str, list[Any]], Any]:
    scores = fm.score(rows, metrics, **options)
    return {name: scores[name].to_pylist() for name in scores.column_names if name != "id"}, fm.summarize(scores)


FORMS = TABLES["forms"]
"""Rows by their form, and the tokens of prompt, completion and both."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore::fastmetrics.base.errors.ScoreWarning")
def test_cached_and_reasoning_tokens_belong_to_the_totals(tmp_path: Path, form: str) -> None:
    row, right = FORMS[form]
    (path := tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    found, _ = scored(path, TOKENS)
    assert [found[name][0] for name in TOKENS] == right
    if not form.startswith(("o", "otlp")) or form.startswith("openai"):  # a preset of spans is one of files
        assert scored([row], TOKENS)[0] == found


def test_counts_stand_beside_those_that_are_named(tmp_path: Path) -> None:
    row = {"input": "Why?", "calls": {"input_tokens": 5, "cache_read_input_tokens": 95, "output_tokens": 1}}
    columns = {"prompt_tokens": "calls.input_tokens"}
    assert scored([row], TOKENS, columns=columns)[0] == {TOKENS[0]: [100], TOKENS[1]: [1], TOKENS[2]: [101]}
    with open(path := tmp_path / "rows.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [["id", "usage"], ["1", json.dumps(FORMS["langfuse"][0]["usageDetails"])], ["2", ""]]
        )
    assert scored(path, "total_tokens")[0] == {"total_tokens": [17913, None]}


@pytest.mark.parametrize(
    ("total", "said"), [(218, None), (623, "1 of 1"), (None, None), (200, "1 of 1"), (217.5, "1 of 1")]
)
def test_a_total_that_is_no_sum_is_said(total: float | None, said: str | None) -> None:
    rows = {"prompt_tokens": [20], "completion_tokens": [198], "total_tokens": [total]}
    _, summary = scored(rows, "total_tokens")
    notes = [note for note in summary.notes if "a total of tokens that is not prompt + completion" in note]
    assert len(notes) == (said is not None)
    assert said is None or said in notes[0]


@pytest.mark.parametrize(
    ("rows", "metric", "values", "unread"),
    [
        ({"prompt_tokens": [100], "completion_tokens": [1], "cache_read_input_tokens": [80]}, "total_tokens", [NAN], 1),
        ({"prompt_tokens": [100, 9], "prompt_cache_read_tokens": [80, None]}, "prompt_tokens", [NAN, 9], 1),
        ({"prompt_tokens": [-1, 5]}, "prompt_tokens", [NAN, 5], 1),
        ({"total_tokens": [-1, None, 5]}, "total_tokens", [NAN, None, 5], 1),
        ({"latency_ms": [-0.5, 0, 12.5, None]}, "latency_ms", [NAN, 0, 12.5, None], 1),
        ({"duration": [-1, 2]}, "latency_ms", [NAN, 2000], 1),
        ({"latency": [1.53, 0.8, 31]}, "latency_ms", [NAN] * 3, 3),
        ({"latency": [0.21, None, 0.0]}, "latency_ms", [NAN, None, 0], 1),
        ({"latency": [-3.0, 250.0, 900.0]}, "latency_ms", [NAN, 250, 900], 1),
        ({"latency": [512, 98.5, 1400]}, "latency_ms", [512, 98.5, 1400], 0),
        ({"latency": [None, None]}, "latency_ms", [None, None], 0),
    ],
)
def test_what_nothing_tells_is_unread(rows: Any, metric: str, values: list[Any], unread: int) -> None:
    found, summary = scored(rows, metric)
    assert str(found[metric]) == str([value if value is None else float(value) for value in values])
    assert summary[metric].n_unread == unread


@pytest.mark.parametrize(
    ("start", "end", "milliseconds"),
    [
        ("2026-01-01T10:00:00Z", "2026-01-01T10:00:02Z", 2000),
        ("2026-01-01T10:00:00", "2026-01-01T10:00:02", 2000),
        ("2026-01-01T10:00:00", "2026-01-01T10:00:02Z", NAN),
        ("2026-01-01T12:00:00+02:00", "2026-01-01T10:00:02", NAN),
        ("2026-01-01T12:00:00+02:00", "2026-01-01T10:00:02Z", 2000),
        ("2026-01-01T10:00:02Z", "2026-01-01T10:00:00Z", NAN),
        ("yesterday", "2026-01-01T10:00:00Z", NAN),
        (1767261600, "2026-01-01T10:00:02", NAN),
        (1767261600, 1767261602.5, 2500),
        (None, "2026-01-01T10:00:00", None),
    ],
)
@pytest.mark.parametrize("where", ["memory", "file", "sessions"])
def test_times_of_unlike_clocks_are_unread(
    tmp_path: Path, start: Any, end: Any, milliseconds: float | None, where: str
) -> None:
    rows = [{"session_id": "s", "success": True, "run": {"start": start, "end": end}}]
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(rows[0]) + "\n")
    table, columns = rows if where == "memory" else path, {"latency_ms": "run.end since run.start"}
    if where == "sessions":
        made = fm.logs.sessions(table, columns=columns).to_arrow()
        expected = None if milliseconds is None or math.isnan(milliseconds) else milliseconds
        assert made["latency_ms"].to_pylist() == [expected]
        return
    found, summary = scored(table, "latency_ms", columns=columns)
    assert str(found["latency_ms"]) == str([None if milliseconds is None else float(milliseconds)])
    assert summary["latency_ms"].n_unread == int(milliseconds is not None and math.isnan(milliseconds))


@pytest.mark.parametrize(
    ("others", "is_known"),
    [
        (("sessionId", "release", "environment", "bookmarked"), True),
        (("session_id", "release", "environment"), True),
        (("bookmarked", "environment"), True),
        (("htmlPath", "output"), True),
        (("session_id", "environment"), False),
        (("release", "version"), False),
        ((), False),
    ],
)
@pytest.mark.parametrize("kind", ["memory", "csv", "jsonl"])
@pytest.mark.filterwarnings("ignore::fastmetrics.base.errors.ScoreWarning")
def test_an_export_in_seconds_is_known_by_its_other_columns(
    tmp_path: Path, others: tuple[str, ...], is_known: bool, kind: str
) -> None:
    rows = [{"id": str(k), "input": "q", **dict.fromkeys(others, "x"), "latency": 1.5 + k} for k in range(3)]
    path = tmp_path / f"rows.{kind}"
    if kind == "csv":
        with path.open("w", newline="") as file:
            (writer := csv.DictWriter(file, rows[0])).writeheader()
            writer.writerows(rows)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found, summary = scored(rows if kind == "memory" else path, "latency_ms")
    assert str(found["latency_ms"]) == str([1500.0, 2500.0, 3500.0] if is_known else [NAN] * 3)
    assert summary["latency_ms"].n_unread == (0 if is_known else 3)


PRICES = {
    "big": {"input": 2.5, "output": 10, "cached_input": 0.25, "cache_write": 3},
    "small": {"input": 0.5, "output": 2},
}


@pytest.mark.parametrize(
    ("row", "cost"),
    [
        ({"model": "big", "prompt_tokens": 1000, "completion_tokens": 100}, 0.0035),
        ({"model": "big", "prompt_tokens": 1000, "completion_tokens": 100, "cached_tokens": 800}, 0.0017),
        ({"model": "big", "input_tokens": 200, "output_tokens": 100, "cache_read_input_tokens": 800}, 0.0017),
        ({"model": "big", "input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 1000}, 0.003),
        ({"model": "small", "prompt_tokens": 1000, "completion_tokens": 100}, 0.0007),
        ({"model": "small", "prompt_tokens": 1000, "completion_tokens": 100, "cached_tokens": 0}, 0.0007),
        ({"model": "small", "prompt_tokens": 1000, "completion_tokens": 100, "cached_tokens": 1}, NAN),
        ({"model": "other", "prompt_tokens": 1000, "completion_tokens": 100}, NAN),
        ({"model": "other", "prompt_tokens": 1000, "completion_tokens": 100, "cost": 0.25}, 0.25),
        ({"model": None, "prompt_tokens": 1000, "completion_tokens": 100}, None),
        ({"model": "small", "prompt_tokens": None, "completion_tokens": 100}, None),
        ({"model": "small", "prompt_tokens": 0, "completion_tokens": 0}, 0.0),
    ],
)
def test_a_row_costs_what_its_model_does(tmp_path: Path, row: dict[str, Any], cost: float | None) -> None:
    table = {
        "model": ["small", row["model"]],
        **{name: [int("cache" not in name), value] for name, value in row.items() if name != "model"},
    }
    found, summary = scored(table, "cost", prices=PRICES)
    assert str(found["cost"][1]) == str(cost)
    assert summary["cost"].n_unread == int(cost is not None and math.isnan(cost))
    known = [value for value in found["cost"] if value is not None and not math.isnan(value)]
    assert summary.figures["cost.sum"] == pytest.approx(math.fsum(known))
    (path := tmp_path / "prices.json").write_text(json.dumps(PRICES))
    assert str(scored(table, None, prices=path)[0]["cost"]) == str(found["cost"])
    (client := tmp_path / "client.toml").write_text('rate = 5\nprices = "prices.json"\n')  # of a client
    assert str(scored(table, None, prices=client)[0]["cost"]) == str(found["cost"])


def test_money_has_significant_digits_and_a_sum() -> None:
    rows = {"prompt_tokens": [1000, 1060, 1120], "completion_tokens": [10] * 3}
    scores = fm.score(rows, "cost", prices={"m": {"input": 0.5, "output": 0}})
    text = str(fm.summarize(scores))
    assert all(words in text for words in ("0.000530", "cost.sum", "0.00159"))
    assert "[0.00045" in str(fm.results.summarize_by(scores))


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
    fm.score(write(table, file), output=out)
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


def scored_of_latency_units(name: str, values: Any, **options: Any) -> tuple[list[float | None], list[str]]:
    scores = fm.score({name: values}, "latency_ms", **options)
    return scores["latency_ms"].to_pylist(), list(fm.summarize(scores).notes)


@pytest.mark.parametrize("name", ["latency_s", "Latency_S", "latency_seconds", "duration", "duration_s"])
def test_seconds_are_read_as_milliseconds(name: str) -> None:
    assert scored_of_latency_units(name, [1.53, None, 2]) == ([1530.0, None, 2000.0], [])
    assert fm.summarize(fm.score({name: [1.53] * 3}, "latency_ms")).figures["latency_ms.p50"] == 1530.0


@pytest.mark.parametrize("name", ["latency_ms", "duration_ms", "LATENCY_MS"])
def test_milliseconds_stay(name: str) -> None:
    assert scored_of_latency_units(name, [1.53, 20]) == ([1.53, 20.0], [])


@pytest.mark.parametrize(
    ("columns", "values"), [({"latency_s": "latency"}, [1530.0, 800.0]), ({"latency_ms": "latency"}, [1.53, 0.8])]
)
def test_the_unit_of_a_bare_latency_is_named(columns: dict[str, str], values: list[float]) -> None:
    _, (note,) = scored_of_latency_units("latency", [1.53, 0.8])
    assert all(words in note for words in ("latency_ms: 2 of 2 rows", "--columns latency_s="))
    assert scored_of_latency_units("latency", [1.53, 0.8], columns=columns) == (values, [])
    assert scored_of_latency_units("took", [1.5], columns={"latency_s": "took"}) == ([1500.0], [])


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_files_have_units_too(tmp_path: Path, name: str) -> None:
    path = write(
        pa.table({"id": [1, 2], "duration": ["1.5", None] if name == "t.csv" else [1.5, None]}), tmp_path / name
    )
    done = fm.score(path, "latency_ms", output=tmp_path / "o.parquet")
    assert done.summary["latency_ms"].mean == 1500.0
    assert fm.summarize(tmp_path / "o.parquet")["latency_ms"].mean == 1500.0


def test_a_name_with_its_own_unit_wins_over_others() -> None:
    scores = fm.score({"latency_ms": [12.0], "latency_s": [3.0]}, "latency_ms")
    assert scores["latency_ms"].to_pylist() == [12.0]


def test_a_path_has_the_unit_of_its_last_name() -> None:
    rows = {"run": [{"latency_s": 2.0}, {"latency_s": 0.5}]}
    assert fm.score(rows, "latency_ms", columns={"latency_ms": "run.latency_s"})["latency_ms"].to_pylist() == [
        2000,
        500,
    ]


def test_the_unit_is_part_of_the_signature(tmp_path: Path) -> None:
    path = write(pa.table({"id": [1], "latency": [2.0]}), tmp_path / "t.parquet")
    for unit in ("latency_s", "latency_ms"):
        fm.score(path, "latency_ms", output=tmp_path / f"{unit}.parquet", columns={unit: "latency"})
    found = [fm.summarize(tmp_path / f"{unit}.parquet") for unit in ("latency_s", "latency_ms")]
    assert [one.columns for one in found] == [{"latency_s": "latency"}, {"latency_ms": "latency"}]
    assert [one["latency_ms"].mean for one in found] == [2000.0, 2.0]
