"""Odd inputs that the program scores: nulls, no rows, bad lines that are set aside, long cells, ids that repeat."""

import json
import math

import pyarrow.parquet as pq
import pytest

from tests.support.program import jsonl, program

GOOD = {"id": 1, "answer": "in Paris", "reference": "Paris"}
NUL = '{"id": 3, "answer": "a\\u0000 b", "reference": "a\\u0000 b c"}'
METRICS = ("-m", "token_f1,exact_match")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def scored(name, *options):
    done = program("score", name, "-o", "o.parquet", *options)
    assert (done.code, done.err) == (0, "")
    return pq.read_table("o.parquet").to_pydict()


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


def test_a_header_alone_gives_no_rows_and_every_metric(tmp_path):
    (tmp_path / "t.csv").write_text("id,answer,reference\n")
    assert scored("t.csv", *METRICS) == {"id": [], "token_f1": [], "exact_match": []}
    printed = program("summarize", "o.parquet").out
    assert printed.count("–") == 9
    assert "token_f1" in printed


@pytest.mark.parametrize("line", ['{"id": 3, "answer"', b'{"id": 3, "answer": "\xff"}', {"answer": {"a": 7}}])
def test_bad_lines_are_set_aside_and_counted(tmp_path, line):
    jsonl(tmp_path / "t.jsonl", GOOD, {**GOOD, "id": 2}, line, {**GOOD, "id": 4}, {"id": 5, "reference": {"a": 8}})
    done = program("score", "t.jsonl", "-o", "o.parquet", "--on-error", "skip", *METRICS)
    assert (done.code, pq.read_table("o.parquet")["id"].to_pylist()) == (0, [1, 2, 4])
    rejects = [json.loads(text) for text in (tmp_path / "o.parquet.rejects.jsonl").read_text().splitlines()]
    assert [(one["file"], one["line"]) for one in rejects] == [("t.jsonl", 3), ("t.jsonl", 5)]
    assert done.out.splitlines()[-1] == f"2 rows rejected: {tmp_path}/o.parquet.rejects.jsonl"
    assert [line.split()[-2:] for line in done.out.splitlines()[:3]] == [["n", "error"], *[["3", "2"]] * 2]
    assert done.out.startswith(program("summarize", "o.parquet").out.rstrip("\n"))


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
