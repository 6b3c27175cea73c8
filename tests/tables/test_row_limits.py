"""Rows that do not end, or are longer than a row may be: named by file and line, with memory that stays bounded."""

import gzip
import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError, OutputError
from fastmetrics.base.limits import ReadSizes
from fastmetrics.tables.arrow_files import stored_columns
from fastmetrics.tables.input_files import MAX_ROW_BYTES, DataFile
from fastmetrics.tables.json_lines import blocks
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Limits
from tests.support.program import ENVIRONMENT, command, jsonl, program
from tests.support.table_files import read, write
from tests.support.toy_scores import FunctionMaker, run

GOOD = {"id": 1, "answer": "in Paris", "reference": "Paris"}
TOO_LONG = "the row has more than {:,} bytes, the limit of max_row_bytes"


BETWEEN = """
import os, subprocess, sys
run = subprocess.Popen(sys.argv[1:])
_, status, used = os.wait4(run.pid, 0)
print(os.waitstatus_to_exitcode(status), used.ru_maxrss)
"""


def peak(*arguments, stdin=None):
    """The exit code, the messages, and the most memory that a run of the program took.

    A small process starts the run, as the peak of a process begins at its parent's.
    """
    between = [sys.executable, "-S", "-c", BETWEEN, *command(*arguments)]
    run = subprocess.run(between, env=ENVIRONMENT, stdin=stdin, capture_output=True, check=True)
    code, memory = map(int, run.stdout.split()[-2:])
    return code, run.stderr.decode(), memory * 1024


@given(st.lists(st.integers(0, 60), max_size=25), st.integers(3, 40), st.integers(5, 25), st.booleans())
def test_lines_are_whole_in_blocks_of_any_size(tmp_path_factory, sizes, block, most, ends):
    """A line that a block holds is read, and one that takes in several blocks is cut: the next ones are read."""
    lines = [bytes([97 + row % 26]) * size for row, size in enumerate(sizes)]
    path = tmp_path_factory.mktemp("lines") / "t.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n" * (ends and bool(lines)))
    sizes_read = ReadSizes(line_block_bytes=block)
    found = list(blocks(DataFile(str(path), "t.jsonl", "jsonl", max_row_bytes=most, sizes=sizes_read)))
    cut = {one.line: one.data for one in found if one.cut}
    assert all(lines[row].startswith(start) and len(lines[row]) > max(most, block) for row, start in cut.items())
    assert cut.keys() >= {row for row, line in enumerate(lines) if len(line) > max(most, block) + block}
    whole = {}
    for one in found:
        for row, line in enumerate(one.data.split(b"\n") if not one.cut else []):
            if line:
                whole[one.line + row] = line
    assert whole == {row: line for row, line in enumerate(lines) if line and row not in cut}


@pytest.mark.parametrize("block", [64, 300, 1 << 20])
def test_long_json_line_is_a_bad_row(tmp_path, monkeypatch, block):
    monkeypatch.chdir(tmp_path)
    rows = [{**GOOD, "id": row} for row in range(9)]
    rows[4]["answer"] = "x" * 500
    jsonl(tmp_path / "t.jsonl", *rows)
    limited = open_source("t.jsonl", max_row_bytes=200, sizes=ReadSizes(line_block_bytes=block))
    with pytest.raises(FileFormatError, match=f"^t.jsonl, line 5: {TOO_LONG.format(200)}$"):
        fm.score(limited, "token_f1", output="o.parquet")
    fm.score(limited, "token_f1", output="o.parquet", files=fm.tables.FileSettings(on_error="skip"))
    assert pq.read_table("o.parquet")["id"].to_pylist() == [0, 1, 2, 3, 5, 6, 7, 8]
    (reject,) = map(json.loads, (tmp_path / "o.parquet.rejects.jsonl").read_text().splitlines())
    assert reject["line"] == 5
    assert json.dumps(rows[4]).startswith(reject["raw"])
    assert program("score", "t.jsonl", "-o", "o2.parquet", "-m", "token_f1").code == 0


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet", "t.arrow", "t.jsonl"])
def test_long_row_is_a_bad_row_in_every_format(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    answers = ["in Paris", "x" * 5000, "Rome"]
    table = pa.table({"id": ["1", "2", "3"], "answer": answers, "reference": ["Paris"] * 3})
    write(table, tmp_path / name)
    limit = "--max-row-bytes", "4000"
    done = program("score", name, "-o", "o.parquet", "-m", "token_f1", *limit)
    assert done.code == 3
    assert TOO_LONG.format(4000) in done.err
    assert any(f"{name}, {where}: " in done.err for where in ("line 2", "row 1"))
    done = program("score", name, "-o", "o.parquet", "-m", "token_f1", *limit, "--on-error", "skip", "-q")
    assert (done.code, pq.read_table("o.parquet")["id"].to_pylist()) == (0, ["1", "3"])


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet", "t.arrow", "t.jsonl"])
def test_row_of_exactly_the_limit_is_good(tmp_path, name):
    write(pa.table({"answer": ["a", "x" * 500, "b"]}), tmp_path / name)
    found = []
    for most in (499, 500, 501):
        files = fm.tables.FileSettings(max_row_bytes=most, on_error="skip")
        done = fm.score(tmp_path / name, "answer_words", output=tmp_path / "o.csv", files=files, overwrite=True)
        found.append((done.rows, done.rejected))
    assert found == [(2, 1), (3, 0), (3, 0)]


def test_resume_needs_the_same_row_limit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "t.jsonl", *[GOOD] * 5, "{")
    source, job = (
        open_source("t.jsonl", sizes=ReadSizes(line_block_bytes=64)),
        FunctionMaker(lambda batch: batch, {"id": "id"}),
    )
    with pytest.raises(FileFormatError, match="line 6"):
        run(source, job, "o.parquet", limits=Limits(part_rows=1))
    with pytest.raises(OutputError, match=r"cannot resume .*max_row_bytes was 67108864, is 1000"):
        run(open_source("t.jsonl", max_row_bytes=1000), job, "o.parquet", limits=Limits(part_rows=1), resume=True)


def test_unterminated_csv_records_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"a{row},b\n" for row in range(200))
    (tmp_path / "t.csv").write_text(f'answer,reference\n{rows}"' + "x\n" * 40_000)
    source = open_source("t.csv", max_row_bytes=1000, sizes=ReadSizes(csv_block_bytes=256))
    with pytest.raises(FileFormatError) as refused:
        read(source, {"answer": "text"})
    assert str(refused.value) == f"t.csv, row 200: {TOO_LONG.format(1000)}; or a quote is not closed"


ENDLESS = {
    "jsonl": (b'{"answer": "a", "reference": "a"}\n', "line 2"),
    "csv": (b'answer,reference\na,b\n"', "row 1"),
    "tsv": (b"answer\treference\na\tb\n", "row 1"),
}


SOME = ["jsonl", *(pytest.param(format, marks=pytest.mark.full) for format in ("csv", "tsv"))]


@pytest.mark.parametrize("format", SOME)
def test_endless_line_stops_the_run_in_bounded_memory(tmp_path, format, full):
    start, where = ENDLESS[format]
    path, blocks = tmp_path / f"t.{format}.gz", 30 if full else 16
    zeros = gzip.compress(bytes(1 << 24), 1)  # a little that unpacks to 256 MB, or to 480
    path.write_bytes(gzip.compress(start) + zeros * blocks)
    code, said, memory = peak("score", path, "-o", tmp_path / "o.parquet", "-m", "token_f1", "--max-row-bytes", 1 << 20)
    assert (code, said.startswith(f"error: {path}, {where}: {TOO_LONG.format(1 << 20)}")) == (3, True)
    assert memory < 450 << 20


@pytest.mark.full
@pytest.mark.parametrize("format", ENDLESS)
def test_endless_zero_bytes_raise(tmp_path, format):
    code, said, memory = peak("score", "/dev/zero", "--format", format, "-o", tmp_path / "o.parquet")
    wrong = f", line 1: {TOO_LONG.format(MAX_ROW_BYTES)}" if format == "jsonl" else ": expected a header of at most "
    assert (code, said.startswith(f"error: /dev/zero{wrong}")) == (3, True), said
    assert memory < 600 << 20


@pytest.mark.full
def test_several_endless_lines_in_one_run(tmp_path):
    (tmp_path / "q.txt").write_text("q1 0 d1 1\n")
    with gzip.open(tmp_path / "r.txt.gz", "wb", 1) as bomb:
        bomb.write(b"q1 Q0 d1 1 0.5 t\n")
        for _ in range(40):
            bomb.write(bytes(1 << 24))
    for rankings, line in ((tmp_path / "r.txt.gz", 2), ("/dev/zero", 1)):
        code, said, memory = peak("rank", rankings, tmp_path / "q.txt")
        assert (code, f"line {line}: the line is longer than 67,108,864 bytes" in said) == (3, True)
        assert memory < 1 << 30


LONG = 70_000_000
MOST = 67_108_864


def bomb(path, size=LONG):
    """Two short rows, a group of four rows of ``size`` bytes each, and one more row."""
    short = pa.table({"id": ["1", "2"], "answer": ["a", "b"], "reference": ["a", "a"]})
    long = pa.chunked_array([pa.array(["x" * size])] * 4)
    with pq.ParquetWriter(path, short.schema, compression="zstd", use_dictionary=False) as writer:
        writer.write_table(short)
        writer.write_table(pa.table({"id": list("abcd"), "answer": long, "reference": ["a"] * 4}))
        writer.write_table(short.slice(0, 1))
    return path


def test_rows_above_the_limit_are_refused_one_by_one(tmp_path):
    path, out = bomb(tmp_path / "t.parquet", 2_000), tmp_path / "o.parquet"
    asked = ("-m", "token_f1", "--on-error", "skip", "--max-row-bytes", "1000", "-q")
    assert program("score", path, "-o", out, *asked).code == 0
    assert pq.read_table(out)["id"].to_pylist() == ["1", "2", "1"]
    rejects = map(json.loads, (tmp_path / "o.parquet.rejects.jsonl").read_text().splitlines())
    assert [(reject["row"], reject["reason"]) for reject in rejects] == [
        (row, TOO_LONG.format(1000)) for row in (2, 3, 4, 5)
    ]


@pytest.mark.full
def test_long_rows_of_a_group_are_refused_one_by_one(tmp_path):
    path = bomb(tmp_path / "t.parquet")
    code, message, memory = peak(
        "score", path, "-o", tmp_path / "o.parquet", "-m", "token_f1", "--on-error", "skip", "-q"
    )
    assert (code, pq.read_table(tmp_path / "o.parquet")["id"].to_pylist()) == (0, ["1", "2", "1"]), message
    rejects = list(map(json.loads, (tmp_path / "o.parquet.rejects.jsonl").read_text().splitlines()))
    reason = TOO_LONG.format(MOST)
    assert [(reject["row"], reject["reason"]) for reject in rejects] == [(row, reason) for row in (2, 3, 4, 5)]
    assert memory < 800 << 20, "the program, and a few rows"


def test_columns_that_are_not_read_are_not_looked_at(tmp_path):
    path = tmp_path / "rows.parquet"
    spans = pa.array([[{"start": 1, "text": "a"}]])
    pq.write_table(pa.table({"id": [1], "spans": spans, "span": ["b"], "contexts": [["c"]]}), path)
    file = pq.ParquetFile(path)
    assert stored_columns(file, ["spans", "contexts"]) == [1, 2, 4]
    assert stored_columns(file, ["span", "absent"]) == [3]
