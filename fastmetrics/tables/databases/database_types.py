"""The columns of databases: their types in Arrow, and the conversion of what the drivers send as text or bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from fastmetrics.base.arrow import is_list
from fastmetrics.tables.file_columns import cast

_COORDINATES: Mapping[str, np.dtype[Any]] = {"vector": np.dtype(">f4"), "halfvec": np.dtype(">f2")}
"""The numbers of pgvector's types, after a header of two 16-bit integers: the dimensions and zero."""
_HEADER = 4


class UnequalVectorsError(ValueError):
    """A vector that is not of the dimension of its bytes."""


def is_json(type_: pa.DataType) -> bool:
    """Whether a column contains JSON."""
    return isinstance(type_, pa.JsonType)


def readable_type(type_: pa.DataType) -> pa.DataType | None:
    """The type of a column as it is read: no types of one database alone; None if the column cannot be read.

    >>> readable_type(pa.uuid()), readable_type(pa.month_day_nano_interval())
    (DataType(string), None)
    """
    if is_json(type_) or isinstance(type_, pa.UuidType):
        return pa.string()
    if isinstance(type_, pa.OpaqueType):
        if type_.type_name == "numeric":
            return pa.float64()
        return pa.list_(pa.float32()) if type_.type_name in _COORDINATES else None
    if isinstance(type_, pa.BaseExtensionType) or pt.is_interval(type_) or pt.is_union(type_) or pt.is_map(type_):
        return None
    if is_list(type_):
        inner = readable_type(type_.value_type)
        if inner is None or inner == type_.value_type:
            return None if inner is None else type_
        return pa.list_(inner)
    return type_


def type_name(field: pa.Field) -> str:
    """The name of a type in its database."""
    stated = (field.metadata or {}).get(b"POSTGRESQL:type")
    return str(field.type) if stated is None else stated.decode()


def readable(array: pa.Array) -> pa.Array:
    """The values with their ``readable_type``.

    Raises ``UnequalVectorsError`` for damaged vectors.
    """
    type_ = array.type
    if isinstance(type_, pa.UuidType):
        return _uuid_text(array.storage)
    if is_json(type_):
        return array.storage.cast(pa.string())
    if isinstance(type_, pa.OpaqueType):
        return array.storage.cast(pa.float64()) if type_.type_name == "numeric" else _vectors(array.storage, type_)
    if is_list(type_) and readable_type(type_) != type_:
        mask = array.is_null() if array.null_count else None
        lists = array.cast(pa.list_(type_.value_type)) if not pt.is_list(type_) else array
        offsets = pa.array(np.asarray(lists.offsets))  # a part of an array takes no mask
        return pa.ListArray.from_arrays(offsets, readable(lists.values), mask=mask)
    return array


def _uuid_text(values: pa.Array) -> pa.Array:
    """The usual text of UUIDs."""
    digits = [None if value is None else value.hex() for value in values.to_pylist()]
    parts = [None if hex_ is None else "-".join(map(hex_.__getitem__, _UUID_PARTS)) for hex_ in digits]
    return pa.array(parts, pa.string())


_UUID_PARTS = (slice(0, 8), slice(8, 12), slice(12, 16), slice(16, 20), slice(20, 32))


def _vectors(values: pa.Array, type_: Any) -> pa.Array:
    """The numbers of pgvector's binary form as lists."""
    numbers = _COORDINATES[type_.type_name]
    present = values.drop_null().cast(pa.large_binary())
    ends = np.frombuffer(present.buffers()[1], np.int64)[present.offset :][: len(present) + 1]
    data = np.frombuffer(present.buffers()[2] or b"", np.uint8)[ends[0] : ends[-1]]
    sizes = np.diff(ends)
    whole = bool(np.all(sizes >= _HEADER))
    if whole:
        headers = data[(ends[:-1] - ends[0])[:, None] + np.arange(_HEADER)]
        dims = headers.view(">u2")[:, 0].astype(np.int64)
        whole = np.array_equal(dims * numbers.itemsize + _HEADER, sizes)
    if not whole:
        raise UnequalVectorsError(f"a value of type {type_.type_name} does not have the bytes of its dimension")
    if len(sizes) and np.all(sizes == sizes[0]):
        coordinates = data.reshape(len(sizes), -1)[:, _HEADER:].view(numbers)
    else:
        coordinates = np.frombuffer(b"".join(value[_HEADER:] for value in present.to_pylist()), numbers)
    all_dims = np.zeros(len(values), np.int64)
    all_dims[np.asarray(values.is_valid())] = dims
    offsets = np.concatenate([[0], np.cumsum(all_dims)]).astype(np.int32)
    mask = values.is_null() if values.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(coordinates.astype(np.float32).reshape(-1)), mask=mask)


def converted(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """The values in the type of their column in batches."""
    values = readable(array)
    return values if values.type == type_ else cast(values, type_)
