"""Arrow data: the types that columns may have, checks of buffers before any code reads them, and numbers as NumPy
arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fastmetrics.base.errors import ColumnError, InputError

# Arrow's types and layouts: those that a column of each kind may have, and plain ones without dictionaries and views.
#
# A *kind* is declared in ``fastmetrics.base.input_columns`` (text, texts, ids, id, number, amounts, numbers, flag,
# time, vector, vectors), or ``any`` for a column that is only copied.


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


def check_type(where: str, name: str, kind: str, type_: pa.DataType) -> None:
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


# Checks that Arrow arrays stay within their buffers, before any code reads data from a file or another library.
#
# Arrow trusts offsets, indices and run ends; one beyond its buffer makes compiled code read invalid memory.  Invalid
# UTF-8 or invalid times are not checked here, because they cannot cause invalid reads.


MOST_ROWS = 2**31 - 1
"""Maximum rows of one array; Arrow's format recommends this limit, and a column of nulls could claim any number."""


def check(array: pa.Array | pa.ChunkedArray, where: str, error: type[InputError] = InputError) -> None:
    """Raise ``error`` unless every offset, index, view and run end of the array is within its target.

    >>> codes = pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["yes"]), safe=False)
    >>> check(codes, "column 'answer'")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    fastmetrics.base.errors.InputError: column 'answer': the data are damaged: Dictionary indices invalid: ...
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


# Numbers and booleans of NumPy as Arrow arrays and back, by their bytes.
#
# ``pa.array`` and ``to_numpy`` import pandas, if it is installed, to look for its types.  That takes longer than to
# score some hundred rows.


Flags: TypeAlias = npt.NDArray[np.bool_]


def arrow_numbers(values: npt.NDArray[Any], type_: pa.DataType, missing: Flags | None = None) -> pa.Array:
    """Numbers or booleans as an Arrow array of the type, null where ``missing``.

    >>> arrow_numbers(np.array([0.5, 2.0]), pa.float64(), np.array([False, True])).to_pylist()
    [0.5, None]
    """
    valid = None
    if missing is not None and missing.any():
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    data = np.ascontiguousarray(values, type_.to_pandas_dtype())
    if pt.is_boolean(type_):
        data = np.packbits(data, bitorder="little")
    return pa.Array.from_buffers(type_, len(values), [valid, pa.py_buffer(data)])


def numpy_values(array: pa.Array, null: float | None = None) -> Any:
    """The values of an Arrow array in NumPy; numbers without nulls are not copied.

    A null is the value ``null``, or without one NaN as in ``to_numpy``.

    >>> numpy_values(pa.array([True, False, True])[1:]), numpy_values(pa.array([1, None]), null=0)
    (array([False,  True]), array([1, 0]))
    """
    type_ = array.type
    numbers = pt.is_integer(type_) or pt.is_floating(type_)
    if array.null_count == 0 and (numbers or pt.is_boolean(type_)):
        return _values(array)
    if not (pt.is_floating(type_) or (numbers and null is not None)):
        return array.to_numpy(zero_copy_only=False)
    nothing = type_.to_pandas_dtype()(np.nan if null is None else null)
    return np.where(_values(array.is_valid()), _values(array), nothing)


def _values(array: pa.Array) -> Any:
    """The numbers or booleans of an array, and anything under nulls."""
    type_, n, data = array.type, len(array), array.buffers()[1]
    if n == 0 or data is None:
        return np.zeros(n, type_.to_pandas_dtype())
    if not pt.is_boolean(type_):
        dtype = np.dtype(type_.to_pandas_dtype())
        return np.frombuffer(data, dtype, n, array.offset * dtype.itemsize)
    first = array.offset // 8
    bits = np.frombuffer(data, np.uint8, -(-(array.offset + n) // 8) - first, first)
    return np.unpackbits(bits, count=array.offset % 8 + n, bitorder="little")[array.offset % 8 :].view(np.bool_)
