"""Compressed files of every kind that commands read: as the plain ones, and errors for damaged and endless ones."""

import bz2
import gzip
import io
import json
import lzma
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError
from fastmetrics.metrics.prices import price_table
from fastmetrics.models.bots import read_knowledge
from fastmetrics.models.prompts import read_rubric
from fastmetrics.results.gate_rules import read_rules
from fastmetrics.tables import input_files
from fastmetrics.tables.opening import open_source
from fastmetrics.vectors.vector_arrays import Vectors
from tests.support.program import ENVIRONMENT
from tests.support.table_files import read


def zstd(data):
    """The bytes, packed with zstd."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


PACK = {"gz": gzip.compress, "zst": zstd, "bz2": bz2.compress, "xz": lzma.compress}
QRELS = "q1 0 d1 1\n"
RUN = "q1 Q0 d2 1 1.0 t\nq1 Q0 d1 2 0.5 t\n"
RUBRIC = (Path(fm.__file__).parent / "models" / "rubrics" / "safety.en.toml").read_bytes()


def _table(path):
    return read(open_source(path), {"answer": "text"})[0].to_pylist()


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
    packed.write_bytes(PACK[pack](data))
    assert reader(packed) == reader(tmp_path / name)


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("name", READERS)
def test_truncated_file_is_an_error(tmp_path, name, pack):
    data, reader = READERS[name]
    packed = tmp_path / f"{name}.{pack}"
    whole = PACK[pack](data)
    for left in (len(whole) // 2, len(whole) - 1):
        packed.write_bytes(whole[:left])
        with pytest.raises(FileFormatError, match=rf"{name}.{pack}: cannot be read: "):
            reader(packed)


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("name", ["rules.toml", "prices.json", "rubric.toml", "knowledge.txt"])
def test_small_file_that_unpacks_to_much_is_an_error(tmp_path, monkeypatch, name, pack):
    monkeypatch.setattr(input_files, "MAX_ROW_BYTES", 5_000)
    packed = tmp_path / f"{name}.{pack}"
    packed.write_bytes(PACK[pack](b" " * 5_001))
    with pytest.raises(FileFormatError, match=rf"{name}.{pack}: the file has more than 5,000 bytes; expected a small"):
        READERS[name][1](packed)


@pytest.mark.parametrize("pack", PACK)
def test_array_is_not_unpacked_beyond_its_end(tmp_path, pack):
    (tmp_path / f"v.npy.{pack}").write_bytes(PACK[pack](_array() + b" " * 1000))
    with pytest.raises(FileFormatError, match=r"not a .npy file of numbers: bytes follow the array"):
        Vectors.of(tmp_path / f"v.npy.{pack}")


def test_file_without_an_end_is_an_error(monkeypatch):
    monkeypatch.setattr(input_files, "MAX_ROW_BYTES", 5_000)
    with pytest.raises(FileFormatError, match="/dev/zero: the file has more than 5,000 bytes"):
        read_rules("/dev/zero")


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


@pytest.mark.parametrize("shape", [(3, 10**6, 10**6), (2**62, 2**62), (-1, 3), (10**7, 10**7)])
def test_compressed_array_that_declares_too_much_is_an_error(tmp_path, shape):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": shape})
    (tmp_path / "v.npy.gz").write_bytes(gzip.compress(header.getvalue() + b"\0" * 1_000_000))
    with pytest.raises(FileFormatError, match=r"v.npy.gz: cannot be read: not a .npy file of numbers: "):
        Vectors.of(tmp_path / "v.npy.gz")
