"""Arrow's types and layouts: those that a column of each kind may have, and plain ones without dictionaries and views.

A *kind* is declared in ``fastmetrics.core.names.input_columns`` (text, texts, ids, id, number, amounts, numbers, flag,
time, vector, vectors), or ``any`` for a column that is only copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fastmetrics.errors import ColumnError


def is_text(type_: pa.DataType) -> bool:
    """Whether the type contains strings, in any layout."""
    if pt.is_dictionary(type_):
        return is_text(type_.value_type)
    return bool(pt.is_string(type_) or pt.is_large_string(type_) or pt.is_string_view(type_))


def is_list(type_: pa.DataType) -> bool:
    """Whether the type contains lists, in any layout."""
    return bool(pt.is_list(type_) or pt.is_large_list(type_) or pt.is_fixed_size_list(type_))


def is_list_view(type_: pa.DataType) -> bool:
    """Whether the type contains lists in arbitrary order (list views)."""
    return bool(pt.is_list_view(type_) or pt.is_large_list_view(type_))


def is_number(type_: pa.DataType) -> bool:
    """Whether the type contains integers, floats or decimals."""
    return bool(pt.is_integer(type_) or pt.is_floating(type_) or pt.is_decimal(type_))


def _is_flag(type_: pa.DataType) -> bool:
    return bool(pt.is_boolean(type_) or pt.is_integer(type_) or pt.is_floating(type_))


def _is_count(type_: pa.DataType) -> bool:
    return is_number(type_) or bool(pt.is_boolean(type_))


def _is_time(type_: pa.DataType) -> bool:
    return is_text(type_) or bool(pt.is_timestamp(type_) or pt.is_date(type_)) or is_number(type_)


def _is_coordinate(type_: pa.DataType) -> bool:
    return bool(pt.is_integer(type_) or pt.is_floating(type_))


def _list_of(test: Callable[[pa.DataType], bool]) -> Callable[[pa.DataType], bool]:
    return lambda type_: is_list(type_) and (pt.is_null(type_.value_type) or test(type_.value_type))


def _is_id(type_: pa.DataType) -> bool:
    return is_text(type_) or bool(pt.is_integer(type_))


_FITS: Mapping[str, tuple[str, Callable[[pa.DataType], bool]]] = {
    "text": ("text", is_text),
    "texts": ("text or lists of it", lambda type_: is_text(type_) or _list_of(is_text)(type_)),
    "ids": ("lists of strings or of whole numbers", _list_of(_is_id)),
    "id": ("strings or whole numbers", _is_id),
    "number": ("numbers", _is_count),
    "amounts": ("numbers or lists of numbers", lambda type_: _is_count(type_) or _list_of(_is_count)(type_)),
    "numbers": ("lists of numbers", _list_of(_is_count)),
    "flag": ("true or false", _is_flag),
    "time": ("times: dates, ISO 8601, or seconds since 1970", _is_time),
    "vector": ("lists of numbers", _list_of(_is_coordinate)),
    "vectors": (
        "lists of numbers, or lists of such lists",
        _list_of(lambda type_: _is_coordinate(type_) or _list_of(_is_coordinate)(type_)),
    ),
    "any": ("anything but unions", lambda type_: not pt.is_union(type_)),
}


def fits(kind: str, type_: pa.DataType) -> bool:
    """Whether a column of this type can be of this kind."""
    return pt.is_null(type_) or _FITS[kind][1](plain(type_))


def check(where: str, name: str, kind: str, type_: pa.DataType) -> None:
    """Raise ``ColumnError`` unless a column of this type can be of this kind; ``where`` prefixes the message."""
    if not fits(kind, type_):
        raise ColumnError(f"{where}column {name!r}: expected {_FITS[kind][0]}, got {type_}")


def plain(type_: pa.DataType) -> pa.DataType:
    """The type with dictionaries, run-end encodings and views replaced by their value types."""
    if pt.is_dictionary(type_) or pt.is_run_end_encoded(type_):
        return plain(type_.value_type)
    if pt.is_string_view(type_):
        return pa.string()
    if pt.is_binary_view(type_):
        return pa.binary()
    if is_list_view(type_) or (is_list(type_) and plain(type_.value_type) != type_.value_type):
        return pa.list_(plain(type_.value_type))
    return type_


def decoded(array: pa.Array) -> pa.Array:
    """The values of a dictionary or of runs; other arrays unchanged.

    A dictionary may contain a value twice, or null, and indices may be null too: only the values show which rows are
    equal and which are missing.
    """
    if pt.is_run_end_encoded(array.type):
        return pc.run_end_decode(array)
    if not pt.is_dictionary(array.type):
        return array
    words = array.dictionary
    return (words.cast(pa.large_string()) if pt.is_string_view(words.type) else words).take(array.indices)


def as_lists(array: pa.Array) -> pa.Array:
    """A list array of any layout as one with consecutive lists; Arrow's own cast of views is broken."""
    ends = np.concatenate([[0], np.cumsum(np.asarray(array.value_lengths().fill_null(0)))])
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), array.flatten(), mask=mask)


def is_plain(type_: pa.DataType, *, coded_text: bool = False) -> bool:
    """Whether the type has a plain layout; ``coded_text`` allows dictionaries of text, and ordered ones, as scales."""
    if pt.is_dictionary(type_):
        return coded_text and (type_.ordered or is_text(type_.value_type)) and is_plain(type_.value_type)
    if pt.is_run_end_encoded(type_) or pt.is_string_view(type_) or is_list_view(type_):
        return False
    return not is_list(type_) or is_plain(type_.value_type, coded_text=coded_text)


def plain_type(type_: pa.DataType) -> pa.DataType:
    """The type in a plain layout, except for dictionaries of text."""
    if is_plain(type_, coded_text=True):
        return type_
    if pt.is_dictionary(type_) or pt.is_run_end_encoded(type_):
        return plain_type(type_.value_type)
    return pa.large_string() if pt.is_string_view(type_) else pa.list_(plain_type(type_.value_type))


def plain_array(array: pa.Array, *, coded_text: bool = False) -> pa.Array:
    """The array in a plain layout; ``coded_text`` leaves dictionaries of text, also those within lists.

    >>> plain_array(pa.array([[1, 2], None], pa.list_view(pa.int64()))).type
    ListType(list<item: int64>)
    """
    if is_plain(array.type, coded_text=coded_text):
        return array
    if pt.is_dictionary(array.type) or pt.is_run_end_encoded(array.type):
        return plain_array(decoded(array), coded_text=coded_text)
    if pt.is_string_view(array.type):
        return array.cast(pa.large_string())
    lists = as_lists(array)
    items = plain_array(lists.values, coded_text=coded_text)
    mask = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(lists.offsets, items, mask=mask)


def plain_column(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column in a plain layout, except for dictionaries of text."""
    if is_plain(column.type, coded_text=True):
        return column
    if isinstance(column, pa.Array):
        return plain_array(column, coded_text=True)
    return pa.chunked_array([plain_array(chunk, coded_text=True) for chunk in column.chunks], plain_type(column.type))


def plain_table(table: pa.Table | pa.RecordBatch) -> pa.Table | pa.RecordBatch:
    """A table whose columns are in plain layouts, except for dictionaries of text."""
    odd = [at for at, field in enumerate(table.schema) if not is_plain(field.type, coded_text=True)]
    if odd and isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    for at in odd:
        table = table.set_column(at, table.schema.field(at).name, plain_column(table.column(at)))
    return table
