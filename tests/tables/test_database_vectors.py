"""The binary form of pgvector's vectors as lists, against Python's ``struct``: nulls, unequal dimensions, slices."""

import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.tables.database_reader import UnequalVectorsError, readable

FORMATS = {"vector": "f", "halfvec": "e"}
NUMBERS = st.sampled_from([0.0, -0.0, 1.5, -2.25, 3.0e4, 2.0**-14])


def column(values: list[bytes | None], name: str) -> pa.Array:
    type_ = pa.opaque(pa.binary(), name, "PostgreSQL")
    return pa.ExtensionArray.from_storage(type_, pa.array(values, pa.binary()))


def packed(vector: list[float], name: str) -> bytes:
    return struct.pack(f">HH{len(vector)}{FORMATS[name]}", len(vector), 0, *vector)


@given(
    st.sampled_from(sorted(FORMATS)),
    st.integers(0, 3).flatmap(
        lambda dim: st.lists(
            st.none() | st.lists(NUMBERS, min_size=dim, max_size=dim) | st.lists(NUMBERS, max_size=4), max_size=12
        )
    ),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_vectors_have_the_numbers_of_their_bytes(
    name: str, vectors: list[list[float] | None], before: int, after: int
) -> None:
    values = [None if vector is None else packed(vector, name) for vector in vectors]
    lists = readable(column(values, name).slice(before, max(0, len(values) - before - after)))
    lists.validate(full=True)
    assert lists.type == pa.list_(pa.float32())
    assert repr(lists.to_pylist()) == repr(vectors[before : max(before, len(values) - after)])


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize(
    "value", [b"", b"\0", b"\0\0\0", b"\0\2\0\0" + b"\0" * 4, b"\0\1\0\0", b"\0\0\0\0\0", b"\0\1\0\0" + b"\0" * 5]
)
def test_damaged_vectors_are_an_error(name: str, value: bytes) -> None:
    if (name, value) == ("halfvec", b"\0\2\0\0" + b"\0" * 4):
        assert readable(column([value], name)).to_pylist() == [[0.0, 0.0]]
        return
    for values in ([value], [packed([1.0], name), None, value]):
        with pytest.raises(UnequalVectorsError, match=f"a value of type {name} does not have the bytes"):
            readable(column(values, name))
