"""Values of any Arrow type as text, for CSV and JSON lines, and the values of such text, given their type."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.types as pt

from fastmetrics.base.arrays import as_lists, is_list, is_text, plain
from fastmetrics.base.errors import shown
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


# Values of any Arrow type as text, for CSV and JSON lines, and the values of such text, given their type.


_STRINGS = pa.large_string()
NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""The numbers that JSON lacks, by the strings that replace them."""


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
    """The value with the strings of ``NOT_FINITE`` in place of numbers."""
    if isinstance(value, dict):
        return {name: _with_names(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_with_names(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


_UNFIT = (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, TypeError, OverflowError)
"""The errors for values that are not of the type: only a file that was edited has them."""


def of_cells(text: pa.Array, type_: pa.DataType) -> tuple[pa.Array, dict[int, str]]:
    """The cells of a column of CSV as ``type_``, and the errors of invalid rows (null)."""
    return _or_errors(text, type_, _of_cells)


def of_records(values: Sequence[Any], type_: pa.DataType) -> tuple[pa.Array, dict[int, str]]:
    """The values of a column of parsed JSON as ``type_``, and the errors of invalid rows (null)."""
    return _or_errors(values, type_, lambda some, type_: of_json(_parsed(some, json_type(type_)), type_))


def _or_errors(values: Any, type_: pa.DataType, convert: Callable[[Any, Any], pa.Array]) -> Any:
    try:
        return convert(values, type_), {}
    except _UNFIT:
        pass
    arrays, errors = [pa.array([], type_)], {}
    for place in range(len(values)):
        try:
            arrays.append(convert(values[place : place + 1], type_))
        except _UNFIT:
            value = values[place].as_py() if isinstance(values, pa.Array) else values[place]
            errors[place] = f"expected a value of the recorded type {type_}, got {shown(value)}"
            arrays.append(pa.nulls(1, type_))
    return pa.concat_arrays(arrays), errors


def _of_cells(text: pa.Array, type_: pa.DataType) -> pa.Array:
    if isinstance(type_, pa.BaseExtensionType) and not is_uuid(type_):
        return pa.ExtensionArray.from_storage(type_, _of_cells(text, type_.storage_type))
    if is_text(type_) or _is_bytes(type_):
        return text.cast(type_) if is_text(type_) else text.cast(pa.binary()).cast(type_)
    filled = pc.if_else(pc.equal(pc.binary_length(text), 0), pa.scalar(None, text.type), text)
    if pt.is_nested(type_):
        return of_json(_parsed_texts(filled, json_type(type_)), type_)
    return _scalars(filled, type_)


def _scalars(text: pa.Array, type_: pa.DataType) -> pa.Array:
    """Texts as values of a type without parts."""
    if is_uuid(type_):
        values = [None if value is None else UUID(value).bytes for value in text.to_pylist()]
        return pa.ExtensionArray.from_storage(type_, pa.array(values, type_.storage_type))
    if pt.is_null(type_):
        if text.null_count < len(text):
            raise ValueError("expected no value")
        return pa.nulls(len(text))
    if pt.is_duration(type_):
        return text.cast(pa.int64()).cast(type_)
    if pt.is_time(type_):
        day = pc.binary_join_element_wise("1970-01-01 ", text.cast(pa.string()), "")
        return day.cast(pa.timestamp(type_.unit)).cast(type_)
    if _is_bytes(type_):
        values = [None if value is None else base64.b64decode(value, validate=True) for value in text.to_pylist()]
        return pa.array(values, type_)
    return text.cast(type_)


def _is_bytes(type_: pa.DataType) -> bool:
    return any(test(type_) for test in (pt.is_binary, pt.is_large_binary, pt.is_fixed_size_binary))


def json_type(type_: pa.DataType) -> pa.DataType:
    """The type of a column's values in JSON, which Arrow's reader of JSON supports."""
    if isinstance(type_, pa.BaseExtensionType):
        return pa.string() if is_uuid(type_) else json_type(type_.storage_type)
    if pt.is_map(type_):
        return json_type(entries_type(type_))
    if is_list(type_):
        return pa.list_(json_type(type_.value_type))
    if pt.is_struct(type_):
        return pa.struct([pa.field(field.name, json_type(field.type)) for field in type_])
    if pt.is_duration(type_):
        return pa.int64()
    if pt.is_float16(type_):
        return pa.float32()
    if pt.is_boolean(type_) or pt.is_integer(type_) or pt.is_floating(type_):
        return type_
    return pa.string()


def of_json(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """A column of the type ``json_type(type_)`` as ``type_``; raises an ``ArrowInvalid`` or ``ValueError`` if unfit."""
    if values.type == type_:
        return values
    if isinstance(type_, pa.BaseExtensionType) and not is_uuid(type_):
        return pa.ExtensionArray.from_storage(type_, of_json(values, type_.storage_type))
    mask = values.is_null() if values.null_count else None
    if pt.is_map(type_):
        lists = as_lists(values)
        keys, items = lists.values.flatten()
        return pa.MapArray.from_arrays(
            lists.offsets, of_json(keys, type_.key_type), of_json(items, type_.item_type), type=type_, mask=mask
        )
    if is_list(type_):
        lists = as_lists(values)
        inner = of_json(lists.values, type_.value_type)
        return cast(pa.ListArray.from_arrays(lists.offsets, inner, mask=mask), type_)
    if pt.is_struct(type_):
        fields = [of_json(entry, field.type) for entry, field in zip(values.flatten(), type_, strict=True)]
        return pa.StructArray.from_arrays(fields, fields=list(type_), mask=mask)
    if pt.is_string(values.type):
        return values.cast(type_) if is_text(type_) else _scalars(values, type_)
    return values.cast(type_)


def _parsed_texts(text: pa.Array, type_: pa.DataType) -> pa.Array:
    """Texts in JSON as values: parsed together by Arrow, or one by one if Arrow rejects any."""
    cells = text.cast(pa.binary()).fill_null(b"null").to_pylist()
    block = b"\n".join(b'{"v":%b}' % cell for cell in cells)
    if block.count(b"\n") == len(cells) - 1 and b"\r" not in block and not is_deep(block):
        try:
            table = pj.read_json(
                pa.BufferReader(block),
                pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
                pj.ParseOptions(explicit_schema=pa.schema([("v", type_)]), unexpected_field_behavior="error"),
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            table = None
        if table is not None and table.num_rows == len(cells):
            return table.column("v").combine_chunks()
    return _parsed([None if value is None else _loaded(value) for value in text.to_pylist()], type_)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _parsed(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Values of parsed JSON as an array of a type of JSON."""
    return pa.array([_numbered(value, type_) for value in values], type_, from_pandas=False)


def _numbered(value: Any, type_: pa.DataType) -> Any:
    """The value with numbers in place of the strings of ``NOT_FINITE``; raises ``ValueError`` for another type."""
    if value is None:
        return None
    if is_list(type_) and isinstance(value, list):
        return [_numbered(entry, type_.value_type) for entry in value]
    if pt.is_struct(type_) and isinstance(value, dict):
        return {field.name: _numbered(value.get(field.name), field.type) for field in type_}
    if pt.is_floating(type_) and isinstance(value, str) and value in NOT_FINITE:
        return NOT_FINITE[value]
    if isinstance(value, bool) != pt.is_boolean(type_) or isinstance(value, str) != pt.is_string(type_):
        raise ValueError(f"expected {type_}")
    return value


def encode_schema(schema: pa.Schema) -> str:
    """A schema as text, without loss."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def decode_schema(text: str) -> pa.Schema:
    """The schema from the text of ``encode_schema``."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
