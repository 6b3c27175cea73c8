"""Where vectors are: files, memory, and the cache of an embedder."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError, OutputError
from fastmetrics.vectors.embedder import EmbeddingModel, VectorCache, as_keys
from fastmetrics.vectors.vector_arrays import Vectors


@given(st.lists(st.integers(0, 19), max_size=12), st.integers(0, 20), st.integers(0, 20), st.sampled_from("fdei><B?"))
def test_rows_are_those_of_the_array(
    tmp_path_factory: pytest.TempPathFactory, rows: list[int], start: int, stop: int, kind: str
) -> None:
    stored = {"<": "<f8", ">": ">f4"}.get(kind, kind)
    array = (np.arange(60).reshape(20, 3) % 7).astype(stored)
    path = tmp_path_factory.mktemp("v") / "v.npy"
    np.save(path, array)
    here, there = Vectors.of(array), Vectors.of(path)
    assert (there.rows, there.dim, there.dtype) == (20, 3, here.dtype)
    for one, other in (
        (here.take(rows), there.take(rows)),
        (here.block(min(start, stop), stop), there.block(min(start, stop), stop)),
        (here.all(), there.all()),
    ):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()
        assert not other.flags.writeable


@pytest.mark.parametrize("array", [np.zeros((0, 3)), np.zeros((4, 0)), np.asfortranarray(np.eye(3)), np.eye(3)[:, 1:]])
def test_odd_arrays_are_read(tmp_path: Path, array: Any) -> None:
    np.save(tmp_path / "v.npy", array)
    assert Vectors.of(tmp_path / "v.npy").all().tolist() == array.tolist()


def test_bytes_after_the_array_are_an_error(tmp_path: Path) -> None:
    with open(tmp_path / "v.npy", "wb") as file:
        np.save(file, np.eye(3))
        np.save(file, np.eye(3))
    with pytest.raises(FileFormatError):
        Vectors.of(tmp_path / "v.npy")


ROWS = np.random.default_rng(7).random((30, 4))
TABLE = {"id": [f"q{row}" for row in range(30)], "note": ["x"] * 30, "embedding": ROWS.tolist()}
KINDS = {
    **{"dict": lambda: TABLE, "rows": lambda: pa.table(TABLE).to_pylist(), "arrow": lambda: pa.table(TABLE)},
    **{"batches": lambda: pa.table(TABLE).to_reader(max_chunksize=7), "pandas": lambda: pd.DataFrame(TABLE)},
    "polars": lambda: pl.DataFrame(TABLE),
}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_every_kind_equal_their_file(kind, tmp_path):
    pq.write_table(pa.table(TABLE), tmp_path / "queries.parquet")
    index = fm.Index.build(ROWS, names=[f"row {row}" for row in range(30)])
    of_file = fm.search(index, tmp_path / "queries.parquet", k=3).table
    assert of_file["id"].to_pylist() == TABLE["id"]
    for column in (None, "embedding"):
        assert fm.search(index, KINDS[kind](), k=3, column=column).table.to_pylist() == of_file.to_pylist()
    assert fm.vectors.geometry(KINDS[kind]()) == fm.vectors.geometry(tmp_path / "queries.parquet")
    assert (
        fm.vectors.project(KINDS[kind]()).to_arrow().to_pylist()
        == fm.vectors.project(tmp_path / "queries.parquet").to_arrow().to_pylist()
    )


def test_texts_in_memory_are_embedded(tmp_path):
    table = pa.table({"id": ["a", "b"], "question": ["left", "right"]})
    pq.write_table(table, tmp_path / "questions.parquet")
    index = fm.Index.build([[1.0, 0.0], [0.0, 1.0]])

    def embedder(texts):
        return np.array([[1.0, 0.0] if text == "left" else [0.0, 1.0] for text in texts])

    runs = [
        fm.search(index, questions, k=1, embedder=embedder).table
        for questions in (table, tmp_path / "questions.parquet")
    ]
    assert runs[0] == runs[1]
    assert runs[0]["retrieved_ids"].to_pylist() == [[0], [1]]


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_arrays_have_row_numbers_as_ids(rows):
    index = fm.Index.build(ROWS)
    ranked = fm.search(index, ROWS[:rows], k=2).table
    assert ranked["id"].to_pylist() == list(range(rows))
    assert [nearest[0] for nearest in ranked["retrieved_ids"].to_pylist()] == list(range(rows))


class Sums:
    """A made-up model whose vectors tell all texts apart, and which remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, texts):
        self.asked += texts
        return np.array([[len(text), sum(at * ord(mark) for at, mark in enumerate(text, 1)), 1.0] for text in texts])


def opened(folder, revision="1"):
    """An embedder with a cache, and its model, which was asked nothing yet."""
    model = Sums()
    embedder = fm.Embedder(model, cache=folder, revision=revision)
    model.asked.clear()
    return embedder, model


def test_each_text_has_its_vector_in_any_order_over_files_that_grow(tmp_path):
    texts = ["", " ", "a", "a ", "a long text", "a long texT", "a long text.", "A long text", "a long\ntext"]
    texts += [f"{'x' * 70}{letter}{'y' * 70}" for letter in "abc"] + [f"text {number}" for number in range(1500)]
    one, model = opened(tmp_path)
    for start in range(0, len(texts), 400):  # of each file some texts are in the one before
        some = texts[max(0, start - 50) : start + 400]
        assert np.array_equal(one.embed(some), Sums()(some))
    assert sorted(model.asked) == sorted(texts)
    random.Random(0).shuffle(texts)
    for embedder, asking in ((one, model), opened(tmp_path)):
        asking.asked.clear()
        assert np.array_equal(
            embedder.embed(pa.array(["sliced off", *texts, *texts[:9]])[1:]), Sums()([*texts, *texts[:9]])
        )
        assert asking.asked == []


def test_keys_that_share_a_half_have_vectors_of_their_own(tmp_path):
    keys = [one * 8 + other * 8 for one in (b"a", b"b") for other in (b"a", b"b")]
    cache = VectorCache(tmp_path, 1)
    cache.put(keys, [[0.0], [1.0], [2.0], [3.0]])
    assert cache.take(cache.find(as_keys(keys[::-1]))).ravel().tolist() == [3.0, 2.0, 1.0, 0.0]
    assert cache.find(as_keys([b"a" * 8 + b"c" * 8, b"c" * 8 + b"a" * 8])).tolist() == [-1, -1]


def test_vectors_of_another_process_are_read_once(tmp_path, monkeypatch):
    """Both have the cache open before either writes; each finds what the other has written since."""
    read, fromfile = [], np.fromfile
    monkeypatch.setattr(np, "fromfile", lambda path, *more: read.append(path) or fromfile(path, *more))
    (one, first), (other, second) = opened(tmp_path), opened(tmp_path)
    vectors = one.embed(["a", "bb"])
    assert np.array_equal(other.embed(["ccc", "bb", "a"])[1:], vectors[::-1])
    assert np.array_equal(one.embed(["ccc", "dddd"])[:1], other.embed(["ccc"]))
    assert (first.asked, second.asked) == (["bb", "a", "dddd"], ["ccc"])
    other.embed(["dddd"])
    assert sorted(read) == sorted(2 * list(tmp_path.rglob("*.arrow")))


def test_name_revision_and_precision_are_apart(tmp_path):
    models = []
    for name, revision, precision in (("m", "1", "f"), ("n", "1", "f"), ("m", "2", "f"), ("m", "1", "g")):
        models.append(Sums())
        fm.Embedder(EmbeddingModel(name, revision, precision, 3, models[-1]), cache=tmp_path).embed(["a"])
    assert [model.asked for model in models] == [["a"]] * 4


@pytest.mark.parametrize("spoilt", ["dim", "dtype", "keys"])
def test_damaged_files_are_refused(tmp_path, spoilt):
    opened(tmp_path)[0].embed(["a"])
    (path,) = tmp_path.rglob("*.arrow")
    kind, width = (pa.float64() if spoilt == "dtype" else pa.float32()), (2 if spoilt == "dim" else 3)
    vectors = pa.array([[1.0] * width], pa.list_(kind, width))
    table = pa.table({"key": pa.array([b"k" * (8 if spoilt == "keys" else 16)]), "vector": vectors})
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    with pytest.raises(FileFormatError):
        opened(tmp_path)


def test_vectors_that_were_cut_are_an_error(tmp_path):
    texts = ["x" * number for number in range(200)]
    opened(tmp_path)[0].embed(texts)
    again = opened(tmp_path)[0]
    assert np.array_equal(again.embed(texts[7:9]), Sums()(texts[7:9]))
    (file,) = tmp_path.rglob("*.arrow")
    os.truncate(file, 2000)
    with pytest.raises(FileFormatError):
        again.embed(texts)


@pytest.mark.full
def test_a_process_that_ends_before_the_renaming_leaves_no_vector(tmp_path):
    code = (
        "import os, sys, numpy as np, fastmetrics as fm\n"
        "embedder = fm.Embedder(lambda texts: np.ones((len(texts), 3)), cache=sys.argv[1], revision='1')\n"
        "os.replace = lambda *_: os._exit(9)\n"
        "embedder.embed(['a'])\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 9
    assert not list(tmp_path.rglob("[!.]*.arrow"))


def test_a_full_disk_leaves_no_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    embedder, model = opened(tmp_path)
    for name in ("fsync", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(os, name, full)
            with pytest.raises(OutputError):
                embedder.embed(["a"])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert np.array_equal(embedder.embed(["a"]), Sums()(["a"]))
    assert opened(tmp_path)[0].embed(["a"]).tolist() == embedder.embed(["a"]).tolist()
    assert model.asked == ["a"] * 3
