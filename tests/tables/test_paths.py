"""Columns that are paths: every source gives the same rows, and what cannot be followed is said."""

import json
import sqlite3

import pandas as pd
import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError
from tests.support.program import program

ROWS = [
    {
        "id": number,
        "output": {"answer": answer, "meta": {"n": number}},
        "docs": [{"text": "Paris is big."}, {"text": "Rome is old."}],
        "choices": [{"message": {"role": "assistant", "content": answer}}],
        "gold": {"refs": ["Paris", "Paris, France"]},
    }
    for number, answer in enumerate(["Paris", "Rome", None, "in Paris"])
]
COLUMNS = {"answer": "choices[0].message.content", "reference": "gold.refs", "contexts": "docs[].text"}
METRICS = "exact_match,token_f1,answer_words"
EXPECTED = {"exact_match": [1, 0, None, 0], "token_f1": [1, 0, None, 2 / 3], "answer_words": [1, 1, None, 2]}
KINDS = ["list", "arrow", "pandas", "jsonl", "parquet", "feather", "csv", "sqlite", "texts"]


def as_texts(rows):
    """The rows with JSON in place of objects and lists."""
    return [{name: json.dumps(v) if isinstance(v, dict | list) else v for name, v in row.items()} for row in rows]


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def source(kind, folder):
    """The rows in memory, in a file, or in a database."""
    table = pa.Table.from_pylist(ROWS)
    path = folder / f"rows.{kind}"
    if kind == "jsonl":
        return lines(path, ROWS)
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "feather":
        pf.write_feather(table, path)
    elif kind == "csv":
        pd.DataFrame(as_texts(ROWS)).to_csv(path, index=False)
    elif kind == "sqlite":
        with sqlite3.connect(path) as connection:
            pd.DataFrame(as_texts(ROWS)).to_sql("rows", connection, index=False, if_exists="replace")
        return f"sqlite:///{path}?table=rows"
    else:
        return {
            "list": ROWS,
            "arrow": table,
            "pandas": pd.DataFrame(ROWS),
            "texts": pa.Table.from_pylist(as_texts(ROWS)),
        }[kind]
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_scores(kind, tmp_path):
    scores = fm.score(source(kind, tmp_path), METRICS, columns=COLUMNS, keep="output.meta.n")
    assert {name: scores[name].to_pylist() for name in EXPECTED} == EXPECTED
    assert [int(n) for n in scores["output.meta.n"].to_pylist()] == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("path", "meant"), [("output.anwser", "answer"), ("otput.answer", "output")])
def test_a_path_that_no_row_has_names_what_is_near(kind, path, meant, tmp_path):
    with pytest.raises(ColumnError, match=f"did you mean '{meant}'"):
        fm.score(source(kind, tmp_path), "exact_match", columns={**COLUMNS, "answer": path})


def test_commands_read_paths(tmp_path):
    path, output = source("jsonl", tmp_path), tmp_path / "scores.jsonl"
    columns = ",".join(f"{name}={own}" for name, own in COLUMNS.items())
    assert program("score", path, "-m", "exact_match", "--columns", columns, "-o", output).code == 0
    assert fm.summarize(output)["exact_match"].mean == pytest.approx(1 / 3)


def test_rows_of_several_kinds_are_read_one_by_one(tmp_path):
    """A text of JSON is parsed where a path goes into it; any other text is a bad row."""
    rows = [*ROWS, {"output": '{"answer": "Paris"}'}, {"output": None}, {}]
    path = lines(tmp_path / "rows.jsonl", rows)
    answers = {"answer": "output.answer"}
    assert fm.score(path, "answer_words", columns=answers)["answer_words"].to_pylist() == [1, 1, None, 2, 1, None, None]
    lines(path, [*rows, {"output": "oops"}])
    skipping = fm.tables.FileSettings(on_error="skip")
    result = fm.score(path, "answer_words", columns=answers, output=tmp_path / "scores.csv", files=skipping)
    assert (result.rows, result.rejected) == (7, 1)
    rejects = [json.loads(line) for line in (tmp_path / "scores.csv.rejects.jsonl").read_text().splitlines()]
    assert [(reject["line"], reject["column"]) for reject in rejects] == [(8, "output.answer")]


def test_a_bad_text_in_a_table_of_texts_is_a_bad_row(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame({"output": ['{"answer": "yes"}', "oops", '{"answer": "no way"}']}).to_csv(path, index=False)
    output, skipping = tmp_path / "scores.jsonl", fm.tables.FileSettings(on_error="skip")
    fm.score(path, "answer_words", columns={"answer": "output.answer"}, output=output, files=skipping)
    assert [json.loads(line)["answer_words"] for line in output.read_text().splitlines()] == [1, 2]


def test_a_column_with_dots_in_its_name_wins(tmp_path):
    path = lines(tmp_path / "rows.jsonl", [{"output.answer": "one", "output": {"answer": "two words"}}])
    assert fm.score(path, "answer_words", columns={"answer": "output.answer"})["answer_words"].to_pylist() == [1]


def test_files_that_differ_within_a_column_are_one_table(tmp_path):
    """The type of what a path leads to must agree, not that of all that surrounds it."""
    for name, meta in (("a", {"n": 1}), ("b", {"model": "x", "t": [1]})):
        table = pa.Table.from_pylist([{"output": {"answer": "yes", **meta}}])
        pq.write_table(table, tmp_path / f"{name}.parquet")
        lines(tmp_path / f"{name}.jsonl", table.to_pylist())
    for suffix in ("parquet", "jsonl"):
        files = [tmp_path / f"{name}.{suffix}" for name in "ab"]
        assert fm.score(files, "answer_words", columns={"answer": "output.answer"})["answer_words"].to_pylist() == [
            1,
            1,
        ]


def test_alternatives_of_two_shapes_are_read(tmp_path):
    rows = [{"input": "Why so?"}, {"input": [{"role": "user", "content": "Why?"}]}, {"input": None}]
    path = lines(tmp_path / "rows.jsonl", rows)
    columns = {"answer": "input[role=user].content || input"}
    assert fm.score(path, "answer_words", columns=columns)["answer_words"].to_pylist() == [2, 1, None]
