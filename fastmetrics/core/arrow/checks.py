"""Checks that Arrow arrays stay within their buffers, before any code reads data from a file or another library.

Arrow trusts offsets, indices and run ends; one beyond its buffer makes compiled code read invalid memory.  Invalid
UTF-8 or invalid times are not checked here, because they cannot cause invalid reads.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from fastmetrics.errors import InputError

MOST_ROWS = 2**31 - 1
"""Maximum rows of one array; Arrow's format recommends this limit, and a column of nulls could claim any number."""


def check(array: pa.Array | pa.ChunkedArray, where: str, error: type[InputError] = InputError) -> None:
    """Raise ``error`` unless every offset, index, view and run end of the array is within its target.

    >>> codes = pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["yes"]), safe=False)
    >>> check(codes, "column 'answer'")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    fastmetrics.errors.InputError: column 'answer': the data are damaged: Dictionary indices invalid: ...
    """
    for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else (array,):
        if len(chunk) > MOST_ROWS:
            raise error(f"{where}: {len(chunk):,} rows in one chunk; expected at most {MOST_ROWS:,}")
        type_ = layout(chunk.type)
        try:
            # Arrow's view of a list of nulls, even as its own type, is damaged.
            (chunk if chunk.type == type_ else chunk.view(type_)).validate(full=True)
        except (pa.ArrowInvalid, pa.ArrowIndexError) as reason:
            raise error(f"{where}: the data are damaged: {str(reason).splitlines()[0]}") from reason


def check_table(table: pa.Table | pa.RecordBatch, where: str = "column", error: type[InputError] = InputError) -> None:
    """``check`` for every column of a table."""
    for name, column in zip(table.schema.names, table.columns, strict=True):
        check(column, f"{where} {name!r}", error)


def layout(type_: pa.DataType) -> pa.DataType:
    """The type with the same buffers whose values are unrestricted: bytes instead of text, integers instead of times.

    >>> layout(pa.list_(pa.string()))
    ListType(list<item: binary>)
    """
    if isinstance(type_, pa.BaseExtensionType):
        return layout(type_.storage_type)
    for test, plain in _PLAIN:
        if test(type_):
            return plain
    if pt.is_temporal(type_) or pt.is_decimal(type_):
        return _same_width(type_)
    for test, make in _LISTS:
        if test(type_):
            return make(layout(type_.value_type))
    if pt.is_fixed_size_list(type_):
        return pa.list_(layout(type_.value_type), type_.list_size)
    if pt.is_map(type_):
        return pa.map_(layout(type_.key_type), layout(type_.item_type))
    if pt.is_struct(type_):
        return pa.struct([pa.field(field.name, layout(field.type)) for field in type_])
    if pt.is_dictionary(type_):
        return pa.dictionary(type_.index_type, layout(type_.value_type))
    if pt.is_run_end_encoded(type_):
        return pa.run_end_encoded(type_.run_end_type, layout(type_.value_type))
    return type_


_PLAIN = (
    (pt.is_string, pa.binary()),
    (pt.is_large_string, pa.large_binary()),
    (pt.is_string_view, pa.binary_view()),
)
_LISTS = (
    (pt.is_list, pa.list_),
    (pt.is_large_list, pa.large_list),
    (pt.is_list_view, pa.list_view),
    (pt.is_large_list_view, pa.large_list_view),
)


def _same_width(type_: pa.DataType) -> pa.DataType:
    whole = {32: pa.int32(), 64: pa.int64()}
    return whole[type_.bit_width] if type_.bit_width in whole else pa.binary(type_.bit_width // 8)


def check_names(schema: pa.Schema, where: str, error: type[InputError] = InputError) -> None:
    """Raise ``error`` if the name of a column, or of a field within one, is not UTF-8."""
    try:
        for field in schema:
            _read_names(field)
    except UnicodeDecodeError as reason:
        raise error(f"{where}: a column's name is not UTF-8: {reason}") from reason


def _read_names(field: pa.Field) -> str:
    return str(field.name) + "".join(map(_read_names, _within(field.type)))


def _within(type_: pa.DataType) -> list[pa.Field]:
    if isinstance(type_, pa.BaseExtensionType):
        return _within(type_.storage_type)
    if pt.is_dictionary(type_):
        return _within(type_.value_type)
    return [type_.field(at) for at in range(type_.num_fields)]
