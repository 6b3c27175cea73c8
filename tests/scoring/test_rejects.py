"""The file of rejected rows: what a line says, whatever the row was, and in which order."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Limits, Position, Reject
from tests.support.toy_scores import KINDS, FunctionMaker, choosy, run


def rejects(source, **options):
    """The rejects of a run, line by line."""
    output = source.with_name("o.jsonl")
    made = run(open_source(source), FunctionMaker(choosy, KINDS), output, on_error="skip", overwrite=True, **options)
    return [json.loads(line) for line in made.rejects.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("where", "unit"), [("line 7", "line"), ("row 7", "row")])
def test_reject_line_holds_file_place_column_reason_and_row(where, unit):
    text = Reject(Position(0, 6), "in.csv", where, "answer", "expected a ü", "1,😀\u2028").to_json()
    assert json.loads(text) == {
        "file": "in.csv",
        unit: 7,
        "column": "answer",
        "reason": "expected a ü",
        "raw": "1,😀\u2028",
    }
    assert "\n" not in text
    assert "ü" in text, "readable"
    assert "😀" in text


@pytest.mark.parametrize("length", [9_999, 10_000, 10_001, 3_000_000])
def test_long_rejected_row_is_cut_after_10_000_characters(tmp_path, length):
    (tmp_path / "in.jsonl").write_text('{"id": 1, "answer": "x"}\n' + "ü" * length, encoding="utf-8")
    (found,) = rejects(tmp_path / "in.jsonl")
    assert found["raw"] == "ü" * min(length, 10_000)


def test_rejects_are_in_row_order(tmp_path):
    """Whether the reader found them or scoring did, and whichever comes first within a batch."""
    answers = ["short", "fine", "bad", "fine", "a,b", "caf\udce9", "bad", "fine", "short", "a,b", "caf\udce9", "bad"]
    lines = [f"q{n}" if one == "short" else f"q{n},{one}" for n, one in enumerate(answers)]
    (tmp_path / "in.csv").write_bytes("\n".join(["id,answer", *lines]).encode(errors="surrogateescape"))
    for limits in (Limits(), Limits(batch_rows=1), Limits(part_rows=2), Limits(batch_rows=2, part_rows=3)):
        for threads in (1, 3):
            found = rejects(tmp_path / "in.csv", limits=limits, threads=threads)
            assert [one["row"] for one in found] == [n for n, one in enumerate(answers) if one != "fine"]


def test_rejected_row_with_invalid_utf8_is_written_by_column(tmp_path):
    answers = pa.array([b"caf\xe9", None], pa.binary()).view(pa.string())
    table = pa.table({"id": [7, 8], "answer": answers, "more": ["x", "y"]})
    pq.write_table(table, tmp_path / "in.parquet")
    (found,) = rejects(tmp_path / "in.parquet")
    assert found == {
        "file": str(tmp_path / "in.parquet"),
        "row": 0,
        "column": "answer",
        "reason": "invalid UTF-8: byte 0xe9 at byte 3",
        "raw": "id: 7; answer: caf\ufffd",
    }


def test_a_row_that_scoring_rejects_is_of_its_own_file(tmp_path):
    for name, answers in (("a.csv", ["fine", "fine"]), ("b.csv", ["bad", "fine", "bad"])):
        (tmp_path / name).write_text("\n".join(["id,answer", *(f"q{n},{one}" for n, one in enumerate(answers))]))
    sources, output = open_source([tmp_path / "a.csv", tmp_path / "b.csv"]), tmp_path / "o.jsonl"
    made = run(sources, FunctionMaker(choosy, KINDS), output, on_error="skip")
    found = [json.loads(line) for line in made.rejects.read_text(encoding="utf-8").splitlines()]
    assert [(one["file"], one["row"]) for one in found] == [(str(tmp_path / "b.csv"), 0), (str(tmp_path / "b.csv"), 2)]


def test_a_row_on_which_scoring_fails_is_set_aside_only_on_request(tmp_path):
    def fails(batch):
        if "bad" in batch["answer"].to_pylist():
            raise ZeroDivisionError("no words")
        return choosy(batch)

    (tmp_path / "in.csv").write_text("id,answer\nq0,fine\nq1,bad\nq2,fine")
    source, job = open_source(tmp_path / "in.csv"), FunctionMaker(fails, KINDS)
    with pytest.raises(ZeroDivisionError):
        run(source, job, tmp_path / "o.jsonl")
    made = run(source, job, tmp_path / "o.jsonl", on_error="skip")
    [found] = [json.loads(line) for line in made.rejects.read_text(encoding="utf-8").splitlines()]
    assert (made.rows, found["row"], found["reason"], found["raw"]) == (2, 1, "no words", "id: q1; answer: bad")
