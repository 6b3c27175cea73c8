"""Indexes of vectors on disk: the same results when loaded, and errors of damaged files."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather

from fastmetrics.base.errors import FileFormatError
from fastmetrics.vectors.neighbors import METHODS, Index
from tests.vectors.test_neighbors import clusters


@pytest.mark.parametrize("method", METHODS)
def test_loaded_index_gives_the_same_results(method, tmp_path: Path):
    corpus, queries = clusters(1500, 8), clusters(40, 8, seed=2)
    names = pa.array([f"doc{row}" for row in range(1500)])
    index = Index.build(corpus, method=method, names=names)
    index.save(tmp_path / "index")
    loaded = Index.load(tmp_path / "index")
    one, two = index.search(queries, k=7), loaded.search(queries, k=7)
    assert np.array_equal(one.ids, two.ids)
    assert np.array_equal(one.distances, two.distances)
    assert one.recall == two.recall
    assert loaded.names.equals(names)
    assert (loaded.rows, loaded.metric, loaded.method) == (1500, "cosine", method)
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_corrupt_index_raises(tmp_path: Path):
    Index.build(clusters(100, 4)).save(tmp_path / "whole")
    assert (tmp_path / "whole").stat().st_mode & 0o777 == 0o777 & ~_umask()
    spoil = {
        "settings.json": [b"{}", b"[]", b"\xff", b'{"metric": "x", "method": "exact"}'],
        "vectors.npy": [b"", _npy(clusters(9, 4)), _npy(clusters(100, 3))],
        "names.arrow": [b"", _feather(pa.table({"id": [1]})), _feather(pa.table({"name": [1]}))],
        "index.faiss": [b"", b"IxF2"],
    }
    for name, contents in spoil.items():
        for content in contents:
            folder = shutil.copytree(tmp_path / "whole", tmp_path / "spoilt")
            (folder / name).write_bytes(content)
            with pytest.raises(FileFormatError, match="not an index written by fastmetrics"):
                Index.load(folder)
            shutil.rmtree(folder)


@pytest.mark.parametrize("method", METHODS)
def test_damaged_index_bytes_are_rejected_before_faiss(tmp_path: Path, method):
    Index.build(clusters(300, 4), method=method).save(tmp_path / "index")
    file = tmp_path / "index" / "index.faiss"
    whole = file.read_bytes()
    rng = np.random.default_rng(3)
    for place in [*range(0, 96, 4), *rng.integers(0, len(whole), 40).tolist()]:
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with pytest.raises(FileFormatError, match="SHA-256 differs from settings"):
            Index.load(tmp_path / "index")
    file.write_bytes(whole)
    assert Index.load(tmp_path / "index").method == method


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _npy(rows):
    file = io.BytesIO()
    np.save(file, rows)
    return file.getvalue()


def _feather(table):
    file = io.BytesIO()
    feather.write_feather(table, file)
    return file.getvalue()
