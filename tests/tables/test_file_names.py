"""File names and JSON keys that are not UTF-8: plain errors, whatever the command."""

import os
import shutil

import pyarrow as pa
import pytest

from tests.support.program import jsonl, program
from tests.support.table_files import write

ROWS = pa.table({"id": [1], "question": ["q"], "answer": ["a"], "reference": ["a"], "v": [[1.0, 2.0]]})
ODD = "caf" + b"\xe9".decode(errors="surrogateescape")
SAID = "expected a file name in UTF-8; rename the file or its folder"


@pytest.fixture
def odd(tmp_path):
    """Files of every format under a name that is not UTF-8, and beside them under a plain one."""
    for suffix in ("parquet", "arrow", "jsonl", "csv"):
        rows = ROWS.drop_columns("v") if suffix == "csv" else ROWS
        shutil.copy(write(rows, tmp_path / f"good.{suffix}"), tmp_path / f"{ODD}.{suffix}")
    (tmp_path / ODD).mkdir()
    shutil.copy(tmp_path / "good.csv", tmp_path / ODD / "x.csv")
    (tmp_path / "run").write_text("q1 Q0 d1 1 1.0 t\n")
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    return tmp_path


def commands(folder, name):
    good, bad = folder / "good.jsonl", folder / name
    yield "score", bad, "-o", folder / "o.csv"
    yield "summarize", bad
    yield "profile", bad
    yield "logs", "chunks", bad
    yield "logs", "domains", bad
    yield "logs", "cache", bad
    yield "logs", "topics", bad
    yield "logs", "check", bad
    yield "validate", bad, good
    yield "validate", good, bad
    yield "match", bad, good, "-o", folder / "o.csv"
    yield "match", good, bad, "-o", folder / "o.csv"
    yield "answer", bad, "-o", folder / "o.csv", "--bot", "faq", "--faq", good
    yield "answer", good, "-o", folder / "o.csv", "--bot", "faq", "--faq", bad
    yield "judge", "run", bad, "-o", folder / "o.csv", "--model", "m", "--rubrics", "safety"
    yield "judge", "report", bad
    yield "judge", "sample", bad, "-n", 1, "-o", folder / "o.csv"
    yield "compare", bad, good
    yield "gate", bad, "--require", "token_f1 > 0"
    yield "report", bad, "-o", folder / "o.html"
    yield "rank", bad, folder / "qrels"
    yield "rank", folder / "run", bad


@pytest.mark.parametrize("name", [f"{ODD}.parquet", f"{ODD}.arrow", f"{ODD}.jsonl", f"{ODD}.csv", ODD, f"{ODD}.none"])
def test_inputs(odd, name):
    for arguments in commands(odd, name):
        done = program(*arguments)
        assert (done.code, SAID in done.err) == (2, True), (arguments, done.err)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl", "csv", "csv.gz", ""])
def test_outputs(odd, suffix):
    out = odd / f"out{ODD}.{suffix}" if suffix else odd / f"out{ODD}"
    good = odd / "good.jsonl"
    for arguments in (
        ("score", good),
        ("match", good, good),
        ("answer", good, "--bot", "faq", "--faq", good),
        ("judge", "run", good, "--model", "m", "--rubrics", "safety", "--max-calls", 0),
        ("rank", odd / "run", odd / "qrels"),
    ):
        done = program(*arguments, "-o", out)
        assert (done.code, SAID in done.err) == (2, True), (arguments, done.err)
    assert not [name for name in os.listdir(odd) if name.startswith("out")]


def test_files_that_folders_and_patterns_find(odd):
    for inputs in (odd, odd / "*.csv"):
        done = program("score", inputs, "-o", odd / "o.csv")
        assert (done.code, SAID in done.err) == (2, True), done.err
    hive = odd / "h" / f"k={ODD}"
    hive.mkdir(parents=True)
    shutil.copy(odd / "good.csv", hive / "x.csv")
    assert SAID in program("score", odd / "h", "-o", odd / "o.csv").err


def test_vectors(odd):
    for name in (f"{ODD}.parquet", f"{ODD}.arrow"):
        for arguments in (
            ("vectors", "index", odd / name, "--column", "v", "-o", odd / "ix"),
            ("vectors", "geometry", odd / name),
        ):
            done = program(*arguments)
            assert (done.code, SAID in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    "command",
    [
        "score",
        "profile",
        "summarize",
        "match",
        "validate",
        "rank",
        "logs chunks",
        "logs domains",
        "logs topics",
        "logs cache",
        "logs check",
    ],
)
def test_a_json_key_that_is_not_utf8_is_named_by_its_line_or_left_out(odd, command):
    row = b'"question": "q", "answer": "a", "reference": "a", "retrieved_ids": ["a"], "question_embedding": [1.0]'
    key = b"{" + row + b', "b\xe9d": 1}'
    path = jsonl(odd / "key.jsonl", key)
    more = {"score": ["-o", odd / "o.csv"], "match": [path, "-o", odd / "o.csv"], "validate": [path], "rank": [path]}
    done = program(*command.split(), path, *more.get(command, []))
    assert done.code == 3
    assert done.err.startswith(f"error: {path}")
    assert "byte 0xe9" in done.err
