"""Tables in memory and limits of rows."""

import gzip
import io
import json
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.feather
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
from fastmetrics.tables.readers import Chunk, Limits, Position, Reject, cell_bytes, divided
from tests.support.goldens import refused
from tests.support.program import ENVIRONMENT, command, jsonl, program
from tests.support.table_files import FORMATS, KINDS, ROWS, read, write
from tests.support.toy_scores import FunctionMaker, run


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", FORMATS)
def test_formats_give_the_same_rows(tmp_path, name, threads):
    path = write(pa.table(ROWS), tmp_path / name)
    table, rejects = read(open_source(path), KINDS, threads=threads)
    assert table.to_pydict() == ROWS
    assert rejects == []


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.jsonl", "t.csv"])
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=8))
def test_unicode_text_round_trips(tmp_path_factory, name, texts):
    path = write(pa.table({"id": range(len(texts)), "answer": texts}), tmp_path_factory.mktemp("u") / name)
    table, rejects = read(open_source(path), {"answer": "text"})
    assert table["answer"].to_pylist() == texts
    assert rejects == []


@pytest.mark.parametrize("name", FORMATS)
def test_standard_input_is_recognised(tmp_path, name, monkeypatch):
    path = write(pa.table(ROWS), tmp_path / name)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    source = open_source("-")
    assert read(source, KINDS)[0].to_pydict() == ROWS
    assert source.fingerprint[0][0] == "standard input"


def test_standard_input_of_one_column_needs_a_format(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"answer\nyes\n")))
    refused(FileFormatError, "format=", open_source, "-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"answer\nyes\n")))
    assert read(open_source("-", format="csv"), {"answer": "text"})[0].to_pydict() == {"answer": ["yes"]}


def test_globs_and_lists_are_read_in_order(tmp_path):
    for name in ("b", "a"):
        write(pa.table({"answer": [name]}), tmp_path / f"{name}.jsonl")
    assert read(open_source(str(tmp_path / "*.jsonl")), {"answer": "text"})[0]["answer"].to_pylist() == ["a", "b"]
    listed = open_source([tmp_path / "b.jsonl", tmp_path / "a.jsonl"])
    assert read(listed, {"answer": "text"})[0]["answer"].to_pylist() == ["b", "a"]


def test_text_layouts_and_number_widths_can_differ_between_files(tmp_path):
    kinds = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.string_view()]
    for index, type_ in enumerate(kinds):
        table = pa.table({"answer": pa.array(["x", None]).cast(type_), "n": pa.array([1, 2], pa.int32())})
        write(table, tmp_path / f"{index}.arrow")
    write(pa.table({"answer": ["y"], "n": pa.array([0.5], pa.float32())}), tmp_path / "9.parquet")
    table, _ = read(open_source(tmp_path), {"answer": "text", "n": "number"})
    assert table["answer"].to_pylist() == ["x", None] * 4 + ["y"]
    assert table["n"].to_pylist() == [1.0, 2.0] * 4 + [0.5]


def test_dictionary_and_view_lists_are_converted(tmp_path):
    words = pa.array(["a", "b", "a", "c"])
    for index, type_ in enumerate([pa.dictionary(pa.int8(), pa.string()), pa.string_view(), pa.large_string()]):
        lists = pa.ListArray.from_arrays(pa.array([0, 2, None, 2, 4], pa.int32()), words.cast(type_))
        write(pa.table({"contexts": lists.slice(1)}), tmp_path / f"{index}.arrow")
    table, _ = read(open_source(tmp_path), {"contexts": "texts"})
    assert table["contexts"].to_pylist() == [[], None, ["a", "c"]] * 3


def test_cell_sizes_are_independent_of_layout():
    texts = pa.array(["ab", None, "é", ""])
    for type_ in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        assert cell_bytes(texts.cast(type_)).tolist() == [2, 0, 2, 0]
        assert cell_bytes(texts.cast(type_).slice(1, 2)).tolist() == [0, 2]
    lists = pa.array([["ab", "c"], None, [], ["d"]])
    assert cell_bytes(lists).tolist() == [3, 0, 0, 1]
    assert cell_bytes(lists.slice(2)).tolist() == [0, 1]
    assert cell_bytes(pa.array([{"a": "xy", "b": 1}])).tolist() == [10]
    assert cell_bytes(pa.array([True, None, False])).tolist() == [1, 1, 1]
    assert cell_bytes(pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2))).tolist() == [8]


@given(
    rows=st.lists(st.booleans(), max_size=60),
    blocks=st.integers(1, 20),
    limits=st.tuples(st.integers(1, 10), st.integers(1, 20)),
    done=st.integers(0, 3),
)
def test_parts_depend_only_on_the_rows(rows, blocks, limits, done):
    """A part has a fixed number of good rows, with the bad ones among and after them; any part can be the first."""
    chunks, most = [], Limits(*limits)
    good = [row for row, is_good in enumerate(rows) if is_good]
    start = good[done * most.part_rows - 1] + 1 if done and len(good) >= done * most.part_rows else 0
    done = done if start else 0
    for at in range(start, len(rows), blocks):
        own = np.array([row for row in good if at <= row < at + blocks], np.int64)
        bad = [row for row in range(at, min(at + blocks, len(rows))) if row not in own]
        rejects = tuple(Reject(Position(0, row), "f", f"row {row}", None, "bad", "") for row in bad)
        chunks.append(Chunk(0, own, pa.record_batch({"n": own}), rejects))
    pieces = list(divided(chunks, most, done))
    assert [number for number, _ in pieces] == sorted(number for number, _ in pieces)
    found = {row: number for number, chunk in pieces for row in chunk.rows.tolist()}
    found |= {one.position.row: number for number, chunk in pieces for one in chunk.rejects}
    before = np.cumsum(rows)
    parts = {row: max(0, int(before[row]) - 1) // most.part_rows for row in range(start, len(rows))}
    assert found == {row: part for row, part in parts.items() if part >= done}
    assert all(len(chunk.rows) <= limits[0] for _, chunk in pieces)
    assert all(chunk.batch["n"].to_pylist() == chunk.rows.tolist() for _, chunk in pieces)


@pytest.mark.parametrize("name", FORMATS)
def test_reading_can_start_at_any_row(tmp_path, name):
    path = write(pa.table({"answer": [f"row {n}" for n in range(50)]}), tmp_path / name)
    source = open_source(path)
    selection = source.select({"answer": "text"})
    for start in (0, 1, 17, 49, 50):
        chunks = list(source.chunks(selection, Position(0, start)))
        assert [row for chunk in chunks for row in chunk.rows.tolist()] == list(range(start, 50))
        texts = [text for chunk in chunks for text in chunk.batch["answer"].to_pylist()]
        assert texts == [f"row {n}" for n in range(start, 50)]


def test_parquet_row_groups_before_the_start_are_not_read(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"answer": [str(n) for n in range(200_000)]}), path, row_group_size=70_000)
    source = open_source(path)
    selection = source.select({"answer": "text"})
    chunks = list(source.chunks(selection, Position(0, 150_000)))
    assert chunks[0].rows[0] == 150_000
    assert chunks[0].batch["answer"][0].as_py() == "150000"
    assert sum(len(chunk.rows) for chunk in chunks) == 50_000


@pytest.mark.full
@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl", "t.csv", "t.arrow"])
def test_memory_is_bounded_for_a_cell_of_10_megabytes(tmp_path, name):
    cell = "long " * 2_000_000
    path = write(pa.table({"answer": [cell] * 6 + ["short"] * 10}), tmp_path / name)
    source = open_source(path)
    for _, chunk in divided(source.chunks(source.select({"answer": "text"})), Limits()):
        assert chunk.batch.num_rows == 1 or cell_bytes(chunk.batch["answer"]).sum() <= 16 << 20


def test_repeated_long_cell_is_read_in_small_batches(tmp_path):
    path = tmp_path / "t.parquet"
    cells = pa.DictionaryArray.from_arrays(np.zeros(400, np.int32), ["c" * 500_000])
    pq.write_table(pa.table({"contexts": cells}), path, store_schema=False)  # 200 MB of text, were they not one cell
    source = open_source(path)
    first = next(iter(source.chunks(source.select({"contexts": "texts"}))))
    assert first.batch.nbytes < 32 << 20


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
    refused(FileFormatError, "6", lambda: run(source, job, "o.parquet", limits=Limits(part_rows=1)))
    source, how = open_source("t.jsonl", max_row_bytes=1000), {"limits": Limits(part_rows=1), "resume": True}
    refused(OutputError, "max_row_bytes 67108864 1000", run, source, job, "o.parquet", **how)


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


def test_a_first_line_without_an_end_is_read_up_to_the_limit(tmp_path):
    (tmp_path / "run.txt").touch()
    os.truncate(tmp_path / "run.txt", 5 * MOST)
    tracemalloc.start()
    refused(FileFormatError, "line 1 67,108,864", fm.rank, tmp_path / "run.txt", {"q": {"d": 1}}, "mrr")
    _, memory = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert memory < 3 * MOST


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
