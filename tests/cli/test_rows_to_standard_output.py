"""Tables that commands write to standard output, and the columns that they keep beside what they make."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from tests.support.goldens import refused
from tests.support.program import jsonl, program

ROWS = [{"id": n, "Вопрос": "Where?", "answer": "in Paris", "reference": "Paris", "latency_ms": 5.0} for n in range(3)]


def test_rows_go_to_standard_output_as_json_lines_and_the_rest_beside(tmp_path):
    rows = jsonl(tmp_path / "rows.jsonl", *ROWS)
    done = program("score", rows, "-m", "answer_words", "-o", "-")
    assert [json.loads(line) for line in done.out.splitlines()] == [{"id": n, "answer_words": 2} for n in range(3)]
    assert "answer_words" in done.err
    assert done.err.rstrip().endswith("standard output")
    bad = jsonl(tmp_path / "bad.jsonl", *ROWS[:2], {"answer": ["a", "b"]})
    done = program("score", bad, "-m", "answer_words", "-o", "-", "--on-error", "skip")
    assert len(done.out.splitlines()) == 2
    assert "1 row rejected: as follows\n" in done.err
    assert "a list of 2" in json.loads(done.err.splitlines()[-1])["reason"]
    refused = program("score", rows, "-m", "answer_words", "-o", "/dev/stdout")
    assert (refused.code, "to standard output with -o -" in refused.err) == (2, True)


def test_a_score_takes_the_place_of_a_kept_column_of_its_name(tmp_path):
    rows = jsonl(tmp_path / "rows.jsonl", *ROWS)
    out = tmp_path / "o.parquet"
    done = program("score", rows, "-m", "latency_ms,answer_words", "--keep", "all", "-o", out)
    assert done.code == 0, done.err
    assert pq.read_table(out).column_names == ["id", "Вопрос", "answer", "reference", "latency_ms", "answer_words"]
    done = program("score", rows, "-m", "latency_ms", "--keep", "latency_ms", "-o", tmp_path / "p.parquet")
    assert (done.code, "a metric has the same name" in done.err) == (2, True)


def test_a_column_is_kept_by_its_canonical_name(tmp_path):
    rows = jsonl(tmp_path / "rows.jsonl", *ROWS)
    asked = ("--columns", "question=Вопрос", "--keep", "question", "-o", tmp_path / "o.parquet")
    assert program("score", rows, "-m", "answer_words", *asked).code == 0
    assert pq.read_table(tmp_path / "o.parquet").column_names == ["id", "Вопрос", "answer_words"]


SQUAD = [
    {
        "id": "1",
        "reference": {"text": ["Paris"], "answer_start": [3]},
        "prediction": {"id": "1", "prediction_text": "Paris"},
    },
    {"id": "2", "reference": {"text": ["y"], "answer_start": [3]}, "prediction": {"id": "2", "prediction_text": "x"}},
]


@pytest.mark.parametrize("form", ["records", "columns", "table", "pandas", "file"])
def test_objects_of_squad_are_read_in_memory_as_in_files(tmp_path, form):
    import pandas as pd

    forms = {
        "records": lambda: SQUAD,
        "columns": lambda: {name: [row[name] for row in SQUAD] for name in SQUAD[0]},
        "table": lambda: pa.Table.from_pylist(SQUAD),
        "pandas": lambda: pd.DataFrame(SQUAD),
        "file": lambda: jsonl(tmp_path / "rows.jsonl", *SQUAD),
    }
    table = forms[form]()
    assert fm.score(table, "exact_match")["exact_match"].to_pylist() == [1.0, 0.0]
    found = fm.columns(table).columns
    assert [found[name].path for name in ("answer", "reference")] == ["prediction.prediction_text", "reference.text"]
    other = [{"answer": {"n": 1, "content": "a"}, "reference": "b"}]
    refused(
        fm.FastmetricsError,
        "answer.content",
        fm.score,
        jsonl(tmp_path / "o.jsonl", *other) if form == "file" else other,
        "exact_match",
    )
    nested = [
        {"predictions": row["prediction"], "references": {"id": "1", "answers": row["reference"]}} for row in SQUAD
    ]
    table = jsonl(tmp_path / "n.jsonl", *nested) if form == "file" else nested
    assert fm.score(table, "exact_match")["exact_match"].to_pylist() == [1.0, 0.0]


@pytest.mark.parametrize("form", ["jsonl", "parquet", "memory"])
@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ([[-0.5, -2.0]], "2 log-likelihoods"),
        ([["-0.5", "False"]], "2 log-likelihoods"),
        ([[[-0.5], [0.0]]], "log-likelihoods"),
        ([["Paris", "Rome"]], "text list 2"),
    ],
)
def test_log_likelihoods_are_named(tmp_path, form, answers, says):
    table = {"answer": answers, "reference": ["b"]}
    if form == "jsonl":
        table = jsonl(tmp_path / "rows.jsonl", {"answer": answers[0], "reference": "b"})
    elif form == "parquet":
        pq.write_table(pa.table({"answer": answers, "reference": ["b"]}), tmp_path / "rows.parquet")
        table = tmp_path / "rows.parquet"
    refused(fm.FastmetricsError, f"answer {says}", fm.score, table, "exact_match")
