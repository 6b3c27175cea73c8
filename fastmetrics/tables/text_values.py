"""Values of any Arrow type as text, for CSV and JSON lines."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fastmetrics.base.arrays import as_lists, is_list, is_text, plain
from fastmetrics.kernels.byte_search import deepest
from fastmetrics.tables.file_columns import cast, entries_type

# The maximum nesting of JSON: parsers recurse, and crash the process at some depth.


DEPTH = 100
"""Maximum nesting of brackets."""


def is_deep(block: bytes) -> bool:
    """Whether a line of the block is nested more than ``DEPTH`` levels deep.

    >>> is_deep(b"[[1]]"), is_deep(b"[" * 101)
    (False, True)
    """
    return bool(deepest(np.frombuffer(block, np.uint8), DEPTH) >= 0)


# Values of any Arrow type as text, for CSV and JSON lines.


_STRINGS = pa.large_string()


def csv_column(column: pa.Array) -> pa.Array:
    """A column that Arrow can write to CSV: lists, structs and maps become JSON."""
    if isinstance(column.type, pa.BaseExtensionType):
        return _uuid_text(column) if is_uuid(column.type) else csv_column(column.storage)
    column = cast(column, plain(column.type))
    if pt.is_nested(column.type):
        return pa.array([None if value is None else _json(value) for value in portable(column).to_pylist()], _STRINGS)
    return column


def json_lines(batch: pa.RecordBatch) -> list[str]:
    """Each row as one line of JSON.

    >>> json_lines(pa.record_batch({"id": ["a"], "token_f1": [0.5]}))
    ['{"id": "a", "token_f1": 0.5}\\n']
    """
    pieces: list[object] = []
    for index, (name, column) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
        pieces.append(pa.scalar(f"{', ' if index else '{'}{_json(name)}: ", _STRINGS))
        pieces.append(_json_cells(column))
    pieces.append(pa.scalar("}\n", _STRINGS))
    joined: list[str] = pc.binary_join_element_wise(*pieces, pa.scalar("", _STRINGS)).to_pylist()
    return joined


def _json_cells(column: pa.Array) -> pa.Array:
    column = portable(column)
    if pt.is_floating(column.type):
        return _numbers(column)
    if pt.is_integer(column.type) or pt.is_boolean(column.type):
        return column.cast(_STRINGS).fill_null("null")
    return pa.array([_json(value) for value in column.to_pylist()], _STRINGS)


def _numbers(column: pa.Array) -> pa.Array:
    """Floats in JSON; −0 as ``-0.0``, because ``-0`` is an integer."""
    text = column.cast(_STRINGS)
    odd = pc.or_(pc.invert(pc.is_finite(column)), pc.equal(text, "-0"))
    if pc.any(odd).as_py():
        names = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"', "-0": "-0.0"}
        text = pa.array([names.get(value, value) for value in text.to_pylist()], _STRINGS)
    return text.fill_null("null")


def portable(column: pa.Array) -> pa.Array:
    """A column whose ``to_pylist`` JSON can express, apart from numbers that are not finite."""
    type_ = column.type
    if isinstance(type_, pa.BaseExtensionType):
        return _uuid_text(column) if is_uuid(type_) else portable(column.storage)
    column = cast(column, plain(type_))
    type_ = column.type
    if pt.is_map(type_):
        return portable(column.cast(entries_type(type_)))
    if is_list(type_):
        lists = as_lists(column)
        mask = lists.is_null() if lists.null_count else None
        return pa.ListArray.from_arrays(lists.offsets, portable(lists.values), mask=mask)
    if pt.is_struct(type_):
        mask = column.is_null() if column.null_count else None
        fields = [portable(field) for field in column.flatten()]
        return pa.StructArray.from_arrays(fields, names=[field.name for field in type_], mask=mask)
    if pt.is_duration(type_):
        return column.cast(pa.int64())
    if pt.is_float16(type_):
        return column.cast(pa.float32())
    if pt.is_boolean(type_) or pt.is_integer(type_) or pt.is_floating(type_) or pt.is_null(type_) or is_text(type_):
        return column
    if pt.is_binary(type_) or pt.is_large_binary(type_) or pt.is_fixed_size_binary(type_):
        return pa.array([None if value is None else base64.b64encode(value).decode() for value in column.to_pylist()])
    return column.cast(pa.string())


def is_uuid(type_: pa.DataType) -> bool:
    """Whether the type holds UUIDs, which are written in their usual form."""
    return getattr(type_, "extension_name", None) == "arrow.uuid"


def _uuid_text(column: pa.Array) -> pa.Array:
    return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_with_names(value), ensure_ascii=False)


def _with_names(value: Any) -> Any:
    """The value with strings in place of numbers that JSON lacks."""
    if isinstance(value, dict):
        return {name: _with_names(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_with_names(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
