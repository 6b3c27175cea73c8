"""Inputs that come once or packed: pipes, standard input, and compressed files of every kind."""

import bz2
import gzip
import io
import itertools
import json
import lzma
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FastmetricsError, FileFormatError
from fastmetrics.metrics.prices import price_table
from fastmetrics.models.bots import read_knowledge
from fastmetrics.models.prompts import read_rubric
from fastmetrics.results.gate_rules import read_rules
from fastmetrics.tables import input_files
from fastmetrics.tables.opening import open_source
from fastmetrics.vectors.vector_arrays import Vectors
from tests.support.goldens import refused
from tests.support.program import ENVIRONMENT, program
from tests.support.table_files import read as read_source
from tests.support.table_files import write

ROWS = pa.table({"id": [1, 2, 3], "answer": ["in Paris", "Rome", "a"], "reference": ["Paris", "Rome", "b"]})
KINDS = {"id": "id", "answer": "text", "reference": "texts"}


def zstd(data):
    """The bytes, packed with zstd."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


PACK = {"gz": gzip.compress, "zst": zstd, "bz2": bz2.compress, "xz": lzma.compress}
FORMATS = ["t.parquet", "t.arrow", "t.arrows", "t.jsonl", "t.csv", "t.tsv"]


def read(path, **options):
    source = open_source(path, **options)
    selection = source.select(KINDS)
    batches = [source.conform(chunk, selection) for chunk in source.chunks(selection)]
    return pa.Table.from_batches(batches, selection.schema).to_pydict()


def poured(tmp_path, data, name="pipe"):
    """A named pipe into which the data are written."""
    os.mkfifo(tmp_path / name)

    def pour():
        with open(tmp_path / name, "wb") as stream:
            stream.write(data)

    threading.Thread(target=pour, daemon=True).start()
    return tmp_path / name


@pytest.mark.parametrize("pack", ["bz2", pytest.param("xz", marks=pytest.mark.full)])
def test_compressed_text_of_many_blocks(tmp_path, pack, full):
    rng = random.Random(0)
    rows = [
        {"id": n, "answer": f"{rng.random()}", "reference": f"{rng.random()}"} for n in range(30_000 if full else 9_000)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (tmp_path / f"t.jsonl.{pack}").write_bytes(PACK[pack](lines))
    (tmp_path / "t.jsonl").write_bytes(lines)
    assert read(tmp_path / f"t.jsonl.{pack}") == read(tmp_path / "t.jsonl")


@pytest.mark.parametrize("pack", ["bz2", "xz"])
@pytest.mark.parametrize("name", ["t.jsonl", "t.csv"])
def test_damaged_compressed_files_raise(tmp_path, name, pack):
    data = PACK[pack](write(ROWS, tmp_path / name).read_bytes() * 50)
    path = tmp_path / f"{name}.{pack}"
    path.write_bytes(data + data[:9])
    refused(FileFormatError, f"{path}", read, path)
    rng = random.Random(1)
    for _ in range(20):
        broken = bytearray(data)
        broken[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(broken)
        refused(FastmetricsError, f"{path}", read, path)


@pytest.mark.parametrize("pack", ["bz2", "xz"])
def test_compressed_huge_row_is_a_long_row(tmp_path, pack):
    path = tmp_path / f"t.jsonl.{pack}"
    path.write_bytes(PACK[pack](b'{"id": 1, "answer": "' + b"0" * (40 << 20)))
    refused(FileFormatError, "1 1 000 000", read, path, max_row_bytes=1_000_000)


@pytest.mark.parametrize("name", FORMATS)
def test_pipe_reads_like_the_file(tmp_path, name):
    plain = write(ROWS, tmp_path / name)
    assert read(poured(tmp_path, plain.read_bytes())) == read(plain)
    assert read(poured(tmp_path, plain.read_bytes(), f"named-{name}")) == read(plain)


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("name", ["t.jsonl", "t.csv"])
def test_pipe_and_standard_input_can_be_compressed(tmp_path, name, pack):
    plain = write(ROWS, tmp_path / name)
    packed = PACK[pack](plain.read_bytes())
    assert read(poured(tmp_path, packed)) == read(plain)
    done = program("score", "-", "-o", tmp_path / "o.jsonl", "-m", "exact_match", stdin=packed)
    assert done.code == 0, done.err


def test_error_for_pipe_without_format_names_the_option(tmp_path):
    done = program("score", poured(tmp_path, b"answer\nyes\n"), "-o", tmp_path / "o.csv")
    assert done.err == (
        f"error: {tmp_path}/pipe: unknown format; "
        "name it with --format (parquet, jsonl, json, csv, tsv, arrow, eval, xlsx)\n"
    )
    done = program(
        "score", poured(tmp_path, b"answer\nyes\n", "p2"), "-o", tmp_path / "o.csv", "--format", "csv", "-m", "brevity"
    )
    assert "unknown format" not in done.err


@pytest.mark.parametrize("kind", ["plain", *PACK])
def test_runs_are_read_from_pipes(tmp_path, kind):
    texts = {
        "trec": "q1 Q0 d2 1 1.0 t\nq1 Q0 d1 2 0.5 t\n",
        "csv": "qid,docid,score\nq1,d2,1\nq1,d1,0.5\n",
        "json": '{"q1": {"d2": 1, "d1": 0.5}}',
        "jsonl": '{"qid": "q1", "docid": "d2", "score": 1}\n{"qid": "q1", "docid": "d1", "score": 0.5}\n',
    }
    for name, text in texts.items():
        pipe = poured(tmp_path, PACK.get(kind, bytes)(text.encode()), name)
        assert fm.rank(pipe, {"q1": {"d1": 1}}, "mrr").mean == {"mrr": 0.5}, name


class Endless(io.RawIOBase):
    """A stream that does not end."""

    def __init__(self, line):
        self.lines = itertools.cycle(line)
        self.count = 0

    def read(self, size=-1):
        self.count += size
        return bytes(itertools.islice(self.lines, min(size, 4096)))


def test_endless_stream_without_format_raises_immediately(monkeypatch):
    stream = Endless(b"y\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(
        "fastmetrics.tables.opening.sys", type("Sys", (), {"stdin": type("In", (), {"buffer": stream})})
    )
    refused(FileFormatError, "format", open_source, "-")
    assert stream.count < 10_000


def test_a_stream_that_fills_the_disk_is_an_error(monkeypatch):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("fastmetrics.tables.input_files.tempfile.TemporaryFile", Full)
    stream = Endless(b'{"answer": "a"}\n')
    monkeypatch.setattr(
        "fastmetrics.tables.opening.sys", type("Sys", (), {"stdin": type("In", (), {"buffer": stream})})
    )
    refused(FileFormatError, "device", open_source, "-", "jsonl")


QRELS = "q1 0 d1 1\n"
RUN = "q1 Q0 d2 1 1.0 t\nq1 Q0 d1 2 0.5 t\n"
RUBRIC = (Path(fm.__file__).parent / "models" / "rubrics" / "safety.en.toml").read_bytes()


def _table(path):
    return read_source(open_source(path), {"answer": "text"})[0].to_pylist()


def _rank(run, qrels):
    return dict(fm.rank(run, qrels, "mrr").mean)


def _array():
    sink = io.BytesIO()
    np.save(sink, np.arange(12.0).reshape(4, 3))
    return sink.getvalue()


def _other(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


READERS = {
    "t.jsonl": (b'{"answer": "a"}\n{"answer": "b"}\n', _table),
    "t.csv": (b"answer,x\na,1\nb,2\n", _table),
    "t.tsv": (b"answer\tx\na\t1\nb\t2\n", _table),
    "run.txt": (RUN.encode(), lambda path: _rank(path, _other(path.parent, "other", QRELS))),
    "run.json": (b'{"q1": {"d2": 1, "d1": 0.5}}', lambda path: _rank(path, _other(path.parent, "other", QRELS))),
    "qrels.txt": (QRELS.encode(), lambda path: _rank(_other(path.parent, "other", RUN), path)),
    "qrels.csv": (b"qid,docid,relevance\nq1,d1,1\n", lambda path: _rank(_other(path.parent, "other", RUN), path)),
    "rules.toml": (b'require = ["token_f1 >= 0.6"]\n', read_rules),
    "prices.toml": (b"[m]\ninput = 1\noutput = 2\n", price_table),
    "prices.json": (json.dumps({"m": {"input": 1, "output": 2}}).encode(), price_table),
    "rubric.toml": (RUBRIC, read_rubric),
    "knowledge.txt": ("Schön\n".encode(), lambda path: read_knowledge([path])),
    "v.npy": (_array(), lambda path: Vectors.of(path).all().tolist()),
}
"""The bytes of each kind of file, and what is read from them."""


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("name", READERS)
def test_compressed_file_reads_like_the_plain_one(tmp_path, name, pack):
    data, reader = READERS[name]
    (tmp_path / name).write_bytes(data)
    packed = tmp_path / f"{name}.{pack}"
    half = len(data) // 2
    for parts in (PACK[pack](data), PACK[pack](data[:half]) + PACK[pack](data[half:])):
        packed.write_bytes(parts)
        assert reader(packed) == reader(tmp_path / name)


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("name", READERS)
def test_truncated_file_is_an_error(tmp_path, name, pack):
    data, reader = READERS[name]
    packed = tmp_path / f"{name}.{pack}"
    whole = PACK[pack](data)
    for left in (7, len(whole) // 2, len(whole) - 1):
        packed.write_bytes(whole[:left])
        refused(FileFormatError, f"{name}.{pack}", reader, packed)


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("name", ["rules.toml", "prices.json", "rubric.toml", "knowledge.txt"])
def test_small_file_that_unpacks_to_much_is_an_error(tmp_path, monkeypatch, name, pack):
    monkeypatch.setattr(input_files, "MAX_ROW_BYTES", 5_000)
    packed = tmp_path / f"{name}.{pack}"
    packed.write_bytes(PACK[pack](b" " * 5_001))
    refused(FileFormatError, f"{name}.{pack} 5 000", lambda: READERS[name][1](packed))


@pytest.mark.parametrize("pack", PACK)
def test_array_is_not_unpacked_beyond_its_end(tmp_path, pack):
    (tmp_path / f"v.npy.{pack}").write_bytes(PACK[pack](_array() + b" " * 1000))
    refused(FileFormatError, "array", Vectors.of, tmp_path / f"v.npy.{pack}")


def test_file_without_an_end_is_an_error(monkeypatch):
    monkeypatch.setattr(input_files, "MAX_ROW_BYTES", 5_000)
    refused(FileFormatError, "/dev/zero 5 000", read_rules, "/dev/zero")


_PEAK = """
import resource, sys
from fastmetrics.vectors.vector_arrays import Vectors
small, large = Vectors.of(sys.argv[1]), None
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
large = Vectors.of(sys.argv[2])
assert large.take([large.rows - 1]).tolist() == [[1.0] * large.dim]
print(large.rows, large.dim, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.full
def test_large_compressed_array_is_not_unpacked_into_memory(tmp_path):
    rows, dim = 1_000_000, 100
    with pa.CompressedOutputStream(str(tmp_path / "large.npy.zst"), "zstd") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": "<f4", "fortran_order": False, "shape": (rows, dim)})
        for _ in range(rows // 10_000):
            stream.write(np.ones((10_000, dim), np.float32))
    (tmp_path / "small.npy.zst").write_bytes(PACK["zst"](_array()))
    run = [sys.executable, "-c", _PEAK, tmp_path / "small.npy.zst", tmp_path / "large.npy.zst"]
    done = subprocess.run(run, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout.split()[:2] == ["1000000", "100"]
    assert int(done.stdout.split()[2]) < 50_000  # KB, of 400 MB
