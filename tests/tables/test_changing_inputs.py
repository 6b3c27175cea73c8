"""Inputs that change while they are read, and first rows that are too long."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastmetrics.base.errors import FileFormatError
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.sources import FileSource
from tests.support.program import jsonl, program
from tests.support.table_files import write

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
    with pytest.raises(FileFormatError, match=r"changed while it was read \(.* bytes, now .*\); copy it, or wait"):
        list(source.chunks(selection))


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


def test_file_of_long_rows_only_is_an_error():
    jsonl(Path("t.jsonl"), {"answer": "x" * 5000}, {"answer": "x" * 6000})
    done = program("score", "t.jsonl", "-o", "o.csv", "--max-row-bytes", "4000", "-m", "answer_words")
    assert (done.code, "line 1: the row has more than 4,000 bytes" in done.err) == (3, True), done.err


@pytest.mark.parametrize("suffix", [".jsonl.zst", ".csv.zst", ".tsv.zst", ".jsonl.gz", ".csv.gz"])
def test_compressed_outputs_are_read_again(suffix):
    jsonl(Path("t.jsonl"), *ROWS)
    assert program("score", "t.jsonl", "-o", f"o{suffix}", "-m", "token_f1", "--keep", "answer,reference").code == 0
    assert program("score", f"o{suffix}", "-o", f"again{suffix}", "-m", "exact_match").code == 0
    assert program("match", f"again{suffix}", f"o{suffix}", "-o", f"m{suffix}", "--columns", "question=id").code in (
        0,
        3,
    )
