"""Vectors in files are those of the array; damaged files are errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.errors import FileFormatError
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
    with pytest.raises(FileFormatError, match=r"not a .npy file of numbers: bytes follow the array"):
        Vectors.of(tmp_path / "v.npy")
