"""Runs that go on where bad rows came before: each is set aside and counted once, and none is missing."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastmetrics.base.errors import OutputError
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Limits
from tests.support.toy_scores import KINDS, FunctionMaker, choosy, names, run, score

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


@pytest.mark.slow
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
