"""Vectors that stay in files: read in pieces, with an error if a file changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.errors import FileFormatError
from fastmetrics.vectors.embedder import VectorCache
from fastmetrics.vectors.vector_arrays import Vectors
from tests.support.program import ENVIRONMENT

CHANGED = r"v.npy: the file changed while it was read \(.*\); copy it, or wait until it is complete"


@given(st.lists(st.integers(0, 19), max_size=12), st.integers(0, 20), st.integers(0, 20), st.sampled_from("fdei><B?"))
def test_rows_are_those_of_the_array(
    tmp_path_factory: pytest.TempPathFactory, rows: list[int], start: int, stop: int, kind: str
) -> None:
    stored = {"<": "<f8", ">": ">f4"}.get(kind, kind)
    array = (np.arange(60).reshape(20, 3) % 7).astype(stored)
    path = tmp_path_factory.mktemp("v") / "v.npy"
    np.save(path, array)
    here, there = Vectors.of(array), Vectors.of(path)
    assert (there.rows, there.dim, there.dtype, there.single) == (20, 3, here.dtype, False)
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


@pytest.mark.parametrize("change", ["shrink", "empty", "grow", "rewrite", "delete"])
@pytest.mark.parametrize("read", ["block", "take"])
def test_file_that_changes_is_an_error(tmp_path: Path, change: str, read: str) -> None:
    path = tmp_path / "v.npy"
    np.save(path, np.arange(300_000.0).reshape(100_000, 3))
    vectors = Vectors.of(path)
    assert vectors.block(99_999, 100_000).tolist() == [[299_997.0, 299_998.0, 299_999.0]]
    if change == "delete":
        path.unlink()
    elif change == "rewrite":
        os.utime(path, ns=(1, 1))
    else:
        size = path.stat().st_size
        os.truncate(path, {"shrink": size - 1, "empty": 0, "grow": size + 1}[change])
    with pytest.raises(FileFormatError, match=CHANGED if change != "delete" else "v.npy: cannot be read: No such file"):
        vectors.block(0, 100_000) if read == "block" else vectors.take([3, 99_999])


def test_bytes_after_the_array_are_an_error(tmp_path: Path) -> None:
    with open(tmp_path / "v.npy", "wb") as file:
        np.save(file, np.eye(3))
        np.save(file, np.eye(3))
    with pytest.raises(FileFormatError, match=r"not a .npy file of numbers: 200 bytes follow the array"):
        Vectors.of(tmp_path / "v.npy")


def test_cached_vectors_that_were_cut_are_an_error(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, 4)
    keys = [bytes([row] * 16) for row in range(200)]
    cache.put(keys, np.arange(800.0).reshape(200, 4))
    again = VectorCache(tmp_path, 4)
    assert again.get(keys[7:9]).tolist() == [[28, 29, 30, 31], [32, 33, 34, 35]]
    (file,) = tmp_path.glob("*.arrow")
    os.truncate(file, 2000)
    with pytest.raises(FileFormatError, match=f"{file.name}: the file ends before row 199 of 200"):
        again.get(keys[199:])


SHRINKING = """
import os
import numpy as np
import fastmetrics as fm
import fastmetrics.vectors.geometry_values as module
from fastmetrics.base.errors import FileFormatError

np.save("v.npy", np.random.default_rng(1).normal(size=(20_000, 8)))
survey = module.survey

def shortened(*arguments, **options):
    surveyed = survey(*arguments, **options)
    os.truncate("v.npy", 4096)
    return surveyed

module.survey = shortened
try:
    fm.vectors.geometry("v.npy")
except FileFormatError as error:
    print(error)
"""


@pytest.mark.slow
def test_file_that_shrinks_does_not_end_the_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHRINKING], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout.decode().startswith("v.npy: the file changed while")) == (0, True), done.stderr
