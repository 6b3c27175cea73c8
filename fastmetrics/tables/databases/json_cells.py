"""Columns of JSON in a database: the type that their first values have, and the values in the type of a column."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.json as pj

from fastmetrics.tables.file_columns import WrongValueError, coerce

_NAME = "value"


def json_type_of(cells: Iterable[str]) -> pa.DataType | None:
    """The type of JSON values; lists take precedence.  None for objects, whose text is their value.

    >>> json_type_of(['["a"]', "[]", "null"]), json_type_of(["[1.5]", '"a"']), json_type_of(['[{"a": 1}]'])
    (ListType(list<item: string>), ListType(list<item: double>), None)
    """
    values = [value for value in map(json.loads, cells) if value is not None]
    lists = [value for value in values if isinstance(value, list)]
    if any(isinstance(item, dict) for items in (values, *lists) for item in items):
        return None
    try:
        type_ = pa.array(lists or values).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.list_(pa.string()) if lists else pa.string()
    if lists and pa.types.is_null(type_.value_type):
        return pa.list_(pa.string())
    return pa.string() if pa.types.is_null(type_) else type_


def json_values(cells: pa.Array, type_: pa.DataType, kind: str) -> tuple[pa.Array, dict[int, str]]:
    """The values of JSON texts in the type of their column, and the reasons why some rows have none.

    Raises ``WiderTypeError`` for a value that its column can contain if it has another type.
    """
    texts = cells.fill_null("null").to_pylist()
    block = "".join(f'{{"{_NAME}":{text}}}\n' for text in texts)
    if block.count("\n") == len(texts):
        values = _by_arrow(block.encode(), len(texts), type_)
        if values is not None:
            return values, {}
    values_by_row: list[Any] = []
    wrong: dict[int, str] = {}
    for row, text in enumerate(texts):
        try:
            values_by_row.append(coerce(json.loads(text), type_, kind))
        except WrongValueError as error:
            values_by_row.append(None)
            wrong[row] = str(error)
    return pa.array(values_by_row, type_), wrong


def _by_arrow(block: bytes, rows: int, type_: pa.DataType) -> pa.Array | None:
    """The values as Arrow parses them, or None if they are of other types."""
    options = pj.ParseOptions(explicit_schema=pa.schema([(_NAME, type_)]), unexpected_field_behavior="error")
    try:
        table = pj.read_json(pa.BufferReader(block), pj.ReadOptions(block_size=len(block) + 1), options)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return table[_NAME].combine_chunks() if table.num_rows == rows else None
