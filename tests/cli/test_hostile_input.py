"""Everything that can be wrong with an input, at the level of the program: exact message, exit code, what is left."""

import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.shared_parameters import helps
from fastmetrics.metrics.suites import SUITES
from tests.support.program import jsonl, program

GOOD = {"id": 1, "answer": "in Paris", "reference": "Paris"}
NUL = '{"id": 3, "answer": "a\\u0000 b", "reference": "a\\u0000 b c"}'
METRICS = ("-m", "token_f1,exact_match")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def refused(tmp_path, name, *options):
    """The message of a run that must fail with code 3 and leave nothing."""
    before = sorted(tmp_path.iterdir())
    done = program("score", name, "-o", "o.parquet", *options)
    assert (done.code, done.out) == (3, "")
    assert sorted(tmp_path.iterdir()) == before
    return done.err.removeprefix("error: ").removesuffix("\n")


def scored(name, *options):
    done = program("score", name, "-o", "o.parquet", *options)
    assert (done.code, done.err) == (0, "")
    return pq.read_table("o.parquet").to_pydict()


def test_a_missing_column(tmp_path):
    jsonl(tmp_path / "t.jsonl", GOOD)
    assert refused(tmp_path, "t.jsonl", "-m", "jaccard") == (
        "jaccard needs the column 'question' (or query, prompt, user_input, input); "
        "the table has: 'id', 'answer', 'reference'; set its name with --columns question=..."
    )
    jsonl(tmp_path / "t.jsonl", {"foo": "a", "bar": "b"})
    assert refused(tmp_path, "t.jsonl") == (
        "no metric can be computed from the columns 'foo', 'bar'; say which of them hold answers and references with "
        "--columns answer=...,reference=..."
    )
    jsonl(tmp_path / "t.jsonl", {"tool_calls": [{"name": "f"}], "expected_tool_calls": [{"name": "f"}]})
    assert refused(tmp_path, "t.jsonl").endswith("'expected_tool_calls'; name suites that can: --suites tools")
    jsonl(tmp_path / "t.jsonl", {"id": 1, "contexts": ["f"]})
    assert refused(tmp_path, "t.jsonl", "--suites", "novelty").endswith("'contexts'; it also reads answer")


def test_one_row_is_no_rows(tmp_path):
    jsonl(tmp_path / "t.jsonl", GOOD)
    assert "\n1 row scored in" in f"\n{program('score', 't.jsonl', '-o', 'o.parquet', *METRICS).out}"


def test_the_help_of_suites_lists_all():
    listed = helps(fm.score)["suites"]
    assert [name for name in SUITES if f" {name}," not in listed] == []


def test_two_aliases_of_one_column(tmp_path):
    jsonl(tmp_path / "t.jsonl", {"output": "a", "response": "b"})
    assert refused(tmp_path, "t.jsonl") == (
        "columns 'output' and 'response' both match 'answer'; choose one with --columns answer=..."
    )
    assert scored("t.jsonl", "--columns", "answer=response", "-m", "answer_length") == {"answer_length": [1.0]}


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("answer", [{"a": 5}], "column 'answer': expected text, got struct<a: int64>"),
        (
            "answer",
            [[["a"]]],
            "column 'answer': expected text, got list<item: list<item: string>>; lists of log-likelihoods are no "
            "answers: name a column of texts, or log what the model generates",
        ),
        ("reference", [{"a": 1.5}], "column 'reference': expected text or lists of it, got struct<a: double>"),
        ("latency_ms", ["fast"], "column 'latency_ms': expected numbers, got string"),
    ],
)
def test_a_wrong_type(tmp_path, column, values, message):
    pq.write_table(pa.table({"answer": ["a"], "reference": ["a"], column: values}), "t.parquet")
    assert refused(tmp_path, "t.parquet").replace("element:", "item:") == f"t.parquet: {message}"


def test_nulls_are_missing_and_counted(tmp_path):
    rows = [GOOD, {"id": 2, "answer": None, "reference": "x"}, {"id": 3, "answer": "x"}, {"id": 4, "reference": []}]
    jsonl(tmp_path / "t.jsonl", *rows)
    assert scored("t.jsonl", *METRICS) == {
        "id": [1, 2, 3, 4],
        "token_f1": [pytest.approx(2 / 3), None, None, None],
        "exact_match": [0.0, None, None, None],
    }
    heading, *lines = (line.split() for line in program("summarize", "o.parquet").out.splitlines() if line)
    assert heading[-2:] == ["n", "missing"]
    assert next(line for line in lines if line[0] == "token_f1")[-2:] == ["1", "3"]


def test_an_empty_file(tmp_path):
    jsonl(tmp_path / "t.jsonl")
    assert refused(tmp_path, "t.jsonl") == "t.jsonl: the file is empty"
    (tmp_path / "t.csv").touch()
    assert refused(tmp_path, "t.csv") == "t.csv: the file is empty"
    (tmp_path / "t.parquet").touch()
    assert refused(tmp_path, "t.parquet").startswith("t.parquet: cannot be read: ")


def test_a_header_alone_gives_no_rows_and_every_metric(tmp_path):
    (tmp_path / "t.csv").write_text("id,answer,reference\n")
    assert scored("t.csv", *METRICS) == {"id": [], "token_f1": [], "exact_match": []}
    printed = program("summarize", "o.parquet").out
    assert printed.count("–") == 9
    assert "token_f1" in printed


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": 3, "answer"', "line 3: malformed JSON: Expecting ':' delimiter at character 19"),
        (b'{"id": 3, "answer": "\xff"}', "line 3: invalid UTF-8: byte 0xff at byte 21"),
        ({"answer": {"a": 7}}, "line 3, column 'answer': expected a string, got an object"),
    ],
)
def test_a_bad_json_line(tmp_path, line, message):
    jsonl(
        tmp_path / "t.jsonl",
        GOOD,
        {**GOOD, "id": 2},
        line,
        {**GOOD, "id": 4},
        {"id": 5, "answer": "x", "reference": {"a": 8}},
    )
    assert refused(tmp_path, "t.jsonl") == f"t.jsonl, {message}"
    done = program("score", "t.jsonl", "-o", "o.parquet", "--on-error", "skip", *METRICS)
    assert done.code == 0
    assert pq.read_table("o.parquet")["id"].to_pylist() == [1, 2, 4]
    rejects = [json.loads(text) for text in (tmp_path / "o.parquet.rejects.jsonl").read_text().splitlines()]
    assert [(one["file"], one["line"]) for one in rejects] == [("t.jsonl", 3), ("t.jsonl", 5)]
    assert message.endswith(rejects[0]["reason"])
    assert done.out.splitlines()[-1] == f"2 rows rejected: {tmp_path}/o.parquet.rejects.jsonl"
    assert [line.split()[-2:] for line in done.out.splitlines()[:3]] == [["n", "error"], *[["3", "2"]] * 2]
    assert done.out.startswith(program("summarize", "o.parquet").out.rstrip("\n"))


def test_invalid_utf8_in_parquet_and_csv(tmp_path):
    answers = pa.array([b"fine", b"caf\xe9"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"answer": answers, "reference": ["a", "b"]}), "t.parquet")
    assert refused(tmp_path, "t.parquet") == "t.parquet, row 1, column 'answer': invalid UTF-8: byte 0xe9 at byte 3"
    (tmp_path / "t.csv").write_bytes(b"answer,reference\nfine,a\ncaf\xe9,b\n")
    assert "t.csv, row 1" in refused(tmp_path, "t.csv")
    assert "invalid UTF-8: byte 0xe9" in refused(tmp_path, "t.csv")


def test_nul_bytes_are_characters_like_others(tmp_path):
    jsonl(tmp_path / "t.jsonl", NUL)
    assert scored("t.jsonl", *METRICS, "-m", "answer_length") == {
        "id": [3],
        "token_f1": [0.8],
        "exact_match": [0.0],
        "answer_length": [4.0],
    }


@pytest.mark.slow
def test_a_cell_of_10_megabytes_and_100_000_tokens_in_a_row(tmp_path):
    long, many = "x" * 10_000_000, " ".join(f"w{n % 70_000}" for n in range(100_000))
    rows = [{"answer": a, "reference": b} for a, b in ((long, long), (many, many + " end"), (long, "y"), ("b", "b"))]
    jsonl(tmp_path / "t.jsonl", *rows)
    found = scored("t.jsonl", "-m", "token_f1,exact_match,answer_words,squad_f1")
    assert found["exact_match"] == [1.0, 0.0, 0.0, 1.0]
    assert found["answer_words"] == [1.0, 100_000.0, 1.0, 1.0]
    assert found["token_f1"] == found["squad_f1"] == [1.0, pytest.approx(200_000 / 200_001), 0.0, 1.0]
    assert math.isclose(found["token_f1"][1], 200_000 / 200_001, rel_tol=1e-15)


@pytest.mark.parametrize(
    ("ids", "kept"), [([7, 7, 7], [7, 7, 7]), ([1, "b", 3], ["1", "b", "3"]), ([None, "b", "b"], [None, "b", "b"])]
)
def test_ids_may_repeat_and_mix(tmp_path, ids, kept):
    jsonl(tmp_path / "t.jsonl", *({**GOOD, "id": one} for one in ids))
    assert scored("t.jsonl", *METRICS)["id"] == kept


def test_a_ragged_csv(tmp_path):
    (tmp_path / "t.csv").write_text("id,answer,reference\n1,a,a\n2,b\n3,c,c,c\n4,d,d\n")
    assert refused(tmp_path, "t.csv") == "t.csv, row 1: expected 3 fields, got 2"
    assert scored("t.csv", "--on-error", "skip", "-m", "exact_match") == {"id": ["1", "4"], "exact_match": [1.0, 1.0]}
    rejects = (tmp_path / "o.parquet.rejects.jsonl").read_text().splitlines()
    assert [json.loads(text)["reason"] for text in rejects] == ["expected 3 fields, got 2", "expected 3 fields, got 4"]


def test_a_truncated_parquet_file(tmp_path):
    pq.write_table(pa.table({"answer": ["x" * 50] * 5000}), "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(data[:-100])
    assert refused(tmp_path, "t.parquet").startswith("t.parquet: cannot be read: Parquet magic bytes not found")


def test_unreadable_paths(tmp_path):
    assert refused(tmp_path, "no.jsonl") == "no.jsonl: cannot be read: No such file or directory"
    assert refused(tmp_path, "*.parquet") == "*.parquet: no file matches"
    (tmp_path / "empty").mkdir()
    assert refused(tmp_path, "empty") == "empty: the folder contains no table files"
    (tmp_path / "t.bin").write_bytes(b"\1\2")
    assert refused(tmp_path, "t.bin").startswith("t.bin: unknown format; name it with --format")
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    assert refused(tmp_path, "loop.jsonl") == "loop.jsonl: cannot be read: Too many levels of symbolic links"
    (tmp_path / "file").touch()
    assert refused(tmp_path, "file/t.jsonl") == "file/t.jsonl: cannot be read: Not a directory"
