"""The cache of vectors: every text its own vector, whatever the file, the order and the process that wrote it."""

import os
import random
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError, OutputError
from fastmetrics.vectors.embedder import EmbeddingModel


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
    with pytest.raises(FileFormatError, match=rf"{path.name}: the cached vectors are damaged; delete the file"):
        opened(tmp_path)


def test_vectors_that_were_cut_are_an_error(tmp_path):
    texts = ["x" * number for number in range(200)]
    opened(tmp_path)[0].embed(texts)
    again = opened(tmp_path)[0]
    assert np.array_equal(again.embed(texts[7:9]), Sums()(texts[7:9]))
    (file,) = tmp_path.rglob("*.arrow")
    os.truncate(file, 2000)
    with pytest.raises(FileFormatError, match=f"{file.name}: the cached vectors cannot be read"):
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
            with pytest.raises(OutputError, match="No space left on device"):
                embedder.embed(["a"])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert np.array_equal(embedder.embed(["a"]), Sums()(["a"]))
    assert opened(tmp_path)[0].embed(["a"]).tolist() == embedder.embed(["a"]).tolist()
    assert model.asked == ["a"] * 3
