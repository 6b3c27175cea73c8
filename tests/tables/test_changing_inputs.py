"""Inputs that change, first rows that are too long, and faults of the system while reading."""

import json
import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.limits import RETRY_LIMITS, ReadSizes
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.remote_files import passing
from fastmetrics.tables.sources import FileSource
from tests.support.goldens import refused
from tests.support.program import jsonl, program
from tests.support.table_files import FORMATS, KINDS, read, write

ROWS = [{"id": n, "answer": f"a {n}", "reference": "a"} for n in range(50)]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def changing(monkeypatch, change):
    """Change the file after its first rows were read."""
    read = FileSource.chunks

    def chunks(self, *arguments, **options):
        for number, chunk in enumerate(read(self, *arguments, **options)):
            if not number:
                change()
            yield chunk

    monkeypatch.setattr(FileSource, "chunks", chunks)


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv", "t.tsv", "t.parquet", "t.arrow", "t.jsonl.gz", "t.jsonl.zst"])
@pytest.mark.parametrize("change", ["grow", "shrink", "rewrite", "delete"])
def test_changed_input_is_an_error(monkeypatch, name, change):
    path = Path(name)
    write(pa.table({"id": ["1", "2"], "answer": ["a", "b"], "reference": ["a", "c"]}), path)
    data = path.read_bytes()

    def done():
        if change == "delete":
            path.unlink()
        elif change == "rewrite":
            os.utime(path, ns=(1, 1))
        else:
            path.write_bytes(data + data if change == "grow" else data[: len(data) // 2])

    changing(monkeypatch, done)
    run = program("score", name, "-o", "o.parquet", "-m", "token_f1", "--threads", "1")
    assert (run.code, "the file changed while it was read (" in run.err) == (3, True), run.err
    assert not Path("o.parquet").exists()


def test_file_that_is_read_twice_unchanged_is_no_error():
    source = open_source(jsonl(Path("t.jsonl"), *ROWS))
    selection = source.select({"answer": "text"})
    for _ in range(2):
        assert sum(len(chunk.rows) for chunk in source.chunks(selection)) == 50
    jsonl(Path("t.jsonl"), *ROWS, *ROWS)
    refused(FileFormatError, "wait", lambda: list(source.chunks(selection)))


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv", "t.parquet"])
@pytest.mark.parametrize("long", [1, 2])
def test_first_row_that_is_too_long_is_skipped(name, long):
    answers = ["x" * 5000] * long + ["a", "b"]
    table = pa.table(
        {"id": [str(n) for n in range(len(answers))], "answer": answers, "reference": ["a"] * len(answers)}
    )
    write(table, Path(name))
    limit = ("--max-row-bytes", "4000", "-m", "token_f1")
    assert program("score", name, "-o", "o.parquet", *limit).code == 3
    done = program("score", name, "-o", "o.parquet", *limit, "--on-error", "skip", "-q")
    assert (done.code, done.err) == (0, "")
    assert pq.read_table("o.parquet")["id"].to_pylist() == [str(n) for n in range(long, long + 2)]
    rejects = [json.loads(line) for line in Path("o.parquet.rejects.jsonl").read_text().splitlines()]
    assert ["more than 4,000 bytes" in reject["reason"] for reject in rejects] == [True] * long


SMALL = ReadSizes(parquet_rows=40, line_block_bytes=2000, csv_block_bytes=2000)
"""Several chunks a file."""
MANY = pa.table({"id": range(200), "answer": [f"answer {n}" for n in range(200)], "reference": ["x"] * 200})


def failing(monkeypatch, source, error, after, times):
    """Make the reader fail ``times`` times, each after some chunks."""
    reader = source._readers[0]
    whole, left = reader.read, [times]

    def read_(*arguments):
        for number, chunk in enumerate(whole(*arguments)):
            if number == after and left[0]:
                left[0] -= 1
                raise error
            yield chunk

    monkeypatch.setattr(reader, "read", read_)
    return left


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """No waiting."""
    monkeypatch.setattr(RETRY_LIMITS, "pause_seconds", 0)


@pytest.mark.parametrize("name", FORMATS)
def test_reading_continues_after_a_transient_fault(tmp_path, monkeypatch, name):
    source = open_source(write(MANY, tmp_path / name), sizes=SMALL)
    expected = read(source, KINDS)
    for after in (0, 1):
        with monkeypatch.context() as patch:
            left = failing(patch, source, OSError(5, "Input/output error"), after, 2)
            assert read(source, KINDS) == expected
            assert left == [0] or after


@pytest.mark.parametrize("name", [name for name in FORMATS if name.endswith((".parquet", ".jsonl"))])
def test_many_faults_are_retried_if_rows_arrive_between(tmp_path, monkeypatch, name):
    source = open_source(write(MANY, tmp_path / name), sizes=SMALL)
    expected = read(source, KINDS)
    left = failing(monkeypatch, source, OSError(5, "Input/output error"), 1, 4)
    assert read(source, KINDS) == expected
    assert left == [0]


def test_bad_rows_are_reported_once_after_a_retry(tmp_path, monkeypatch):
    lines = [f'{{"id": {n}, "answer": "x"}}' if n % 30 else "bad" for n in range(1, 200)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    source = open_source(tmp_path / "in.jsonl", sizes=SMALL)
    expected = read(source, {"answer": "text"})
    assert len(expected[1]) == 6
    for after in range(3):
        with monkeypatch.context() as patch:
            assert failing(patch, source, OSError("the connection was reset"), after, 1) == [1]
            assert read(source, {"answer": "text"}) == expected


@pytest.mark.parametrize(
    ("error", "left", "said"),
    [
        (OSError(5, "no"), 0, "cannot be read: Input/output error"),
        (FileNotFoundError(2, "no"), 2, "cannot be read: No such file or directory"),
        (pa.ArrowInvalid("torn"), 2, "cannot be read: torn"),
    ],
)
def test_permanent_fault_raises(tmp_path, monkeypatch, error, left, said):
    slept = []
    monkeypatch.setattr(RETRY_LIMITS, "pause_seconds", 3.0)
    monkeypatch.setattr(time, "sleep", slept.append)
    source = open_source(write(MANY, tmp_path / "t.parquet"), sizes=SMALL)
    counted = failing(monkeypatch, source, error, 0, 3)
    with pytest.raises(FileFormatError) as caught:
        read(source, KINDS)
    assert str(caught.value) == f"{tmp_path}/t.parquet: {said}"
    assert (counted, slept) == ([left], [] if left else [3.0, 6.0])


def test_bad_cells_before_a_long_cell_are_reported_once(tmp_path):
    lines = ["id,latency_ms", *(f"{n},{'bad' if n % 3 == 2 else n}" for n in range(300)), f"{'x' * 9000},1", "9,bad"]
    (tmp_path / "in.csv").write_text("\n".join(lines))
    found, rejects = read(open_source(tmp_path / "in.csv"), {"id": "id", "latency_ms": "number"})
    assert (found.num_rows, len(rejects), len(set(rejects))) == (201, 101, 101)


def test_retry_in_blocks_without_rows_repeats_no_rows(tmp_path, monkeypatch):
    (tmp_path / "in.jsonl").write_text('{"answer": "x"}\n' * 200 + "\n" * 5000 + '{"answer": "y"}\n')
    source = open_source(tmp_path / "in.jsonl")
    expected = read(source, {"answer": "text"})
    for after in range(4):
        with monkeypatch.context() as patch:
            failing(patch, source, OSError("the connection was reset"), after, 1)
            assert read(source, {"answer": "text"}) == expected


@pytest.mark.parametrize(
    ("error", "can_pass"),
    [
        (ConnectionResetError("reset by peer"), True),
        (TimeoutError("timed out"), True),
        (OSError("AWS Error NETWORK_CONNECTION during GetObject operation: curlCode: 28"), True),
        (OSError("AWS Error SLOW_DOWN during GetObject operation: reduce your rate"), True),
        (PermissionError("denied"), False),
        (FileNotFoundError("gone"), False),
        (IsADirectoryError("a folder"), False),
        (NotADirectoryError("a file"), False),
        (OSError("AWS Error ACCESS_DENIED during GetObject operation: no"), False),
        (OSError("AWS Error NO_SUCH_KEY during GetObject operation: no"), False),
        (FileFormatError("not a table"), False),
        (ValueError("no error of the system"), False),
        (None, False),
    ],
)
def test_only_errors_that_can_pass_are_worth_another_try(error, can_pass):
    assert passing(error) == can_pass
