"""Arrow arrays in plain layouts: without dictionaries, run ends and views."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fastmetrics.core.column_kinds import is_list, is_list_view, is_text


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
