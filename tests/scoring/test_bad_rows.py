"""Bad rows: what the file of rejects says, in which order, and that a resumed run counts each once."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastmetrics.base.errors import OutputError
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Limits, Position, Reject
from tests.support.toy_scores import KINDS, FunctionMaker, choosy, names, run, score


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


LIMITS = Limits(batch_rows=16, part_rows=40)
N = 400


class StopError(Exception):
    """What ends a run early here."""


def bad(n):
    """Rows that cannot be read: one here and there, the very first, and so many that parts begin and end with some."""
    return n % 37 == 0 or 155 <= n < 175


def csv(mark):
    """Ragged lines, too short and too long; cells with line breaks; and a blank line."""
    lines = [f"id{mark}answer"]
    for n in range(N):
        good = f'q{n}{mark}"word\n{n}"' if n % 5 == 0 else f"q{n}{mark}word {n}"
        lines.append([f"q{n}", f"q{n}{mark}x{mark}y"][n % 2] if bad(n) else good)
    return "\n".join([*lines[:60], "", *lines[60:]])


def jsonl():
    """Broken lines, wrong types, lines that are empty or blank."""
    lines = [json.dumps({"id": f"q{n}", "answer": f"word {n}"}) for n in range(N)]
    for n in filter(bad, range(N)):
        lines[n] = ["broken", json.dumps({"id": f"q{n}", "answer": n})][n % 2]
    return "\n".join([*lines[:60], "", " \t", *lines[60:]])


def parquet(path):
    """Text that is not UTF-8."""
    answers = [b"\xff" if bad(n) else b"word %d" % n for n in range(N)]
    table = pa.table({"id": [f"q{n}" for n in range(N)], "answer": pa.array(answers, pa.binary()).view(pa.string())})
    pq.write_table(table, path, row_group_size=60)


MADE = {
    "in.csv": lambda path: path.write_text(csv(",")),
    "in.tsv.gz": lambda path: path.write_bytes(gzip.compress(csv("\t").encode())),
    "in.jsonl": lambda path: path.write_text(jsonl()),
    "in.parquet": parquet,
}


@pytest.fixture(params=MADE)
def source(tmp_path, request):
    MADE[request.param](tmp_path / request.param)
    return tmp_path / request.param


def go(source, output, **options):
    settings = {"limits": LIMITS, "on_error": "skip", **options}
    return run(open_source(source), FunctionMaker(choosy, KINDS, {"version": "1"}), output, **settings)


def stopping(after):
    """A progress bar that ends the run after so many batches."""
    left = [after]

    def progress(done):
        left[0] -= 1
        if left[0] < 0:
            raise StopError

    return progress


def test_bad_rows_before_and_after_the_resume_point(tmp_path, source):
    whole = go(source, tmp_path / "whole.csv")
    assert (whole.rows, whole.rejected) == (N - sum(map(bad, range(N))), sum(map(bad, range(N))))
    resumed = []
    for after in (5, 9, 12, 15, 19, 22):
        output = tmp_path / f"{after}.csv"
        with pytest.raises(StopError):
            go(source, output, progress=stopping(after))
        made = go(source, output, resume=True)
        assert output.read_bytes() == whole.output.read_bytes()
        assert made.rejects.read_bytes() == whole.rejects.read_bytes()
        assert (made.rows, made.rejected) == (whole.rows, whole.rejected)
        resumed.append(made.resumed_rows)
    assert resumed == sorted(resumed)
    assert 0 < resumed[0] < resumed[-1] < N


def test_progress_of_a_resumed_run_counts_each_row_once(tmp_path, source):
    with pytest.raises(StopError):
        go(source, tmp_path / "o.csv", progress=stopping(20))
    seen = []
    made = go(source, tmp_path / "o.csv", resume=True, progress=seen.append)
    rows = [one.rows for one in seen]
    assert rows == sorted(set(rows))
    assert rows[-1] == made.rows + made.rejected == N
    kept = [one for one in rows if one <= made.resumed_rows + made.rejected]
    assert len(kept) > 1, "parts that are kept are counted one by one"


def test_rescored_part_replaces_its_rejects(tmp_path):
    """Where the program has been mended in between, and rows that were bad are no more."""
    rows = pa.table(
        {"id": [f"q{n}" for n in range(120)], "answer": ["bad" if n % 40 == 5 else "x" for n in range(120)]}
    )
    pq.write_table(rows, tmp_path / "in.parquet")
    with pytest.raises(StopError):
        go(tmp_path / "in.parquet", tmp_path / "o.csv", progress=stopping(8))
    (tmp_path / "o.csv.partial" / "part-000001.arrow").unlink()
    job = FunctionMaker(score, KINDS, {"version": "1"})
    options = {"limits": LIMITS, "on_error": "skip", "resume": True}
    made = run(open_source(tmp_path / "in.parquet"), job, tmp_path / "o.csv", **options)
    assert (made.rows, made.rejected) == (119, 1)
    assert [json.loads(line)["row"] for line in made.rejects.read_text().splitlines()] == [5]


def test_run_without_bad_rows_removes_an_old_rejects_file(tmp_path, source):
    go(source, tmp_path / "o.csv")
    assert "o.csv.rejects.jsonl" in names(tmp_path)
    (tmp_path / "good.jsonl").write_text('{"id": "a", "answer": "x"}\n')
    made = go(tmp_path / "good.jsonl", tmp_path / "o.csv", overwrite=True)
    assert (made.rejects, made.rejected) == (None, 0)
    assert "o.csv.rejects.jsonl" not in names(tmp_path)


def test_other_arrow_version_prevents_resuming(tmp_path, monkeypatch):
    """Its files would not have the bytes of one run."""
    MADE["in.jsonl"](tmp_path / "in.jsonl")
    with pytest.raises(StopError):
        go(tmp_path / "in.jsonl", tmp_path / "o.csv", progress=stopping(9))
    with monkeypatch.context() as patch:
        patch.setattr(pa, "__version__", "99.0.0")
        with pytest.raises(OutputError, match=r"cannot resume .*pyarrow.*99\.0\.0"):
            go(tmp_path / "in.jsonl", tmp_path / "o.csv", resume=True)
    assert go(tmp_path / "in.jsonl", tmp_path / "o.csv", resume=True).resumed_rows > 0
