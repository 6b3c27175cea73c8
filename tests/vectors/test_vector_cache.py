"""The cache of vectors: every key its own vector, whatever the file, the order and the process that wrote it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from fastmetrics.base.errors import FileFormatError, OutputError
from fastmetrics.vectors.embedder import Embedder, VectorCache


class Sums:
    """A made-up model whose vectors tell all texts apart, and which remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts):
        self.asked += texts
        return np.array([[len(text), sum(at * ord(mark) for at, mark in enumerate(text, 1)), 1.0] for text in texts])


def key(low: int, high: int) -> bytes:
    return np.array([low, high], np.uint64).tobytes()


def test_keys_with_common_half_are_distinct(tmp_path: Path):
    keys = [key(low, high) for low in (0, 1, 2**63, 1024) for high in (0, 1, 2**63, 1024)]
    cache = VectorCache(tmp_path, 1)
    for at in (0, 8):
        cache.put(keys[at : at + 8], [[number] for number in range(at, at + 8)])
        for one in (cache, VectorCache(tmp_path, 1)):
            assert [key in one for key in keys] == [number < at + 8 for number in range(16)]
            assert one.get(keys[: at + 8])[:, 0].tolist() == list(range(at + 8))
            assert len(one) == at + 8


def test_duplicate_key_counts_once_with_its_first_vector(tmp_path: Path):
    cache = VectorCache(tmp_path, 1)
    keys = [key(number, 7) for number in range(600)]
    cache.put(keys, [[number] for number in range(600)])
    cache.put(keys[:300], [[-1.0]] * 300)
    assert len(cache) == 600
    more = [key(number, 8) for number in range(900)]  # these exceed the size of the table
    cache.put([*keys[100:200], *more], [[-1.0]] * 100 + [[number] for number in range(900)])
    assert len(cache) == 1500
    assert cache.get([*keys, *more])[:, 0].tolist() == [*range(600), *range(900)]


def test_vectors_keep_the_requested_order_across_files(tmp_path: Path):
    cache = VectorCache(tmp_path, 2)
    numbers = list(range(60))
    for start in range(0, 60, 7):
        some = numbers[start : start + 7]
        cache.put([key(number, 0) for number in some], [[number, -number] for number in some])
    random.Random(0).shuffle(numbers)
    again = VectorCache(tmp_path, 2)
    for one in (cache, again):
        assert one.get([key(number, 0) for number in numbers + numbers[:9]])[:, 1].tolist() == [
            -number for number in numbers + numbers[:9]
        ]
    with pytest.raises(KeyError) as error:
        cache.get([key(3, 0), key(61, 0), key(4, 0)])
    assert error.value.args == (key(61, 0),)


def test_similar_texts_have_distinct_keys(tmp_path: Path):
    texts = ["", " ", "a", "a ", "a long text", "a long texT", "a long text.", "A long text", "a long\ntext"]
    texts += [f"{'x' * 70}{letter}{'y' * 70}" for letter in "abc"]
    expected = Sums()(texts)
    Embedder(Sums(), cache=tmp_path, revision="1").embed(texts)
    model = Sums()
    again = Embedder(model, cache=tmp_path, revision="1")
    model.asked.clear()
    assert np.array_equal(again.embed(pa.array(["sliced off", *texts[::-1]])[1:]), expected[::-1])
    assert model.asked == []


def test_vectors_of_another_process_are_reused(tmp_path: Path):
    """Both have the cache open before either writes; each finds what the other has written since."""
    models = Sums(), Sums()
    one, other = (Embedder(model, cache=tmp_path, revision="1") for model in models)
    for model in models:
        model.asked.clear()
    first = one.embed(["a", "bb"])
    assert np.array_equal(other.embed(["ccc", "bb", "a"])[1:], first[::-1])
    assert np.array_equal(one.embed(["ccc", "dddd"])[:1], other.embed(["ccc"]))
    assert [model.asked for model in models] == [["bb", "a", "dddd"], ["ccc"]]


def test_cache_files_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Whoever wrote it, and however often the folder is looked at again."""
    read: list[str] = []
    contents = VectorCache._contents
    monkeypatch.setattr(VectorCache, "_contents", lambda self, path: read.append(path.name) or contents(self, path))
    one, other = VectorCache(tmp_path, 1), VectorCache(tmp_path, 1)
    for number in range(4):
        writer = (one, other)[number % 2]
        writer.put([bytes([number]) * 16], [[float(number)]])
        one.refresh()
        other.refresh()
    assert len(one) == len(other) == 4
    assert sorted(read) == sorted(2 * [path.name for path in tmp_path.glob("*.arrow")])


def test_cache_separates_model_name_revision_and_precision(tmp_path: Path):
    from fastmetrics.vectors.embedder import EmbeddingModel

    asked = []
    for name, revision, precision in (("m", "1", "f"), ("n", "1", "f"), ("m", "2", "f"), ("m", "1", "g")):
        model = Sums()
        Embedder(EmbeddingModel(name, revision, precision, 3, model), cache=tmp_path).embed(["a"])
        asked.append(model.asked)
    assert asked == [["a"]] * 4
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("spoilt", ["dim", "dtype", "keys"])
def test_damaged_cache_files_raise(tmp_path: Path, spoilt: str):
    kind, width = (pa.float64() if spoilt == "dtype" else pa.float32()), (3 if spoilt == "dim" else 2)
    table = pa.table(
        {
            "key": pa.array([key(0, 1)[: 8 if spoilt == "keys" else 16]]),
            "vector": pa.array([[1.0] * width], pa.list_(kind, width)),
        }
    )
    with pa.ipc.new_file(tmp_path / "one.arrow", table.schema) as file:
        file.write_table(table)
    with pytest.raises(FileFormatError, match=r"one\.arrow: the cached vectors are damaged; delete the file"):
        VectorCache(tmp_path, 2)


def test_cache_files_are_written_atomically(tmp_path: Path):
    """A process that ends just before the renaming leaves no vector, one that cannot rename not even a file."""
    code = (
        "import os, sys\n"
        "import fastmetrics.vectors.embedder as module\n"
        "cache = module.VectorCache(sys.argv[1], 1)\n"
        "module.os.replace = lambda *_: os._exit(9)\n"
        "cache.put([b'a' * 16], [[1]])\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 9
    assert b"a" * 16 not in VectorCache(tmp_path, 1)


def test_full_disk_leaves_no_partial_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    cache = VectorCache(tmp_path, 1)
    for name in ("fsync", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(os, name, full)
            with pytest.raises(OutputError, match="No space left on device"):
                cache.put([b"a" * 16], [[1]])
    assert list(tmp_path.iterdir()) == []
    cache.put([b"a" * 16], [[2]])
    assert cache.get([b"a" * 16]).tolist() == [[2.0]]
