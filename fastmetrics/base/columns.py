"""One column of any kind of container as Arrow arrays, numbers, strings or codes: the only converter of users'
columns.
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints, Text, floats_of_arrow, text_of_arrow, well_formed
from fastmetrics.base.arrow import check, decoded, is_list, is_text, numpy_values, plain_array, plain_column, plain_type
from fastmetrics.base.errors import ColumnError, InputError

# One column of any kind of container, as Arrow arrays, numbers, strings or codes: the only converter of user input.
#
# A column is a list, a tuple, a NumPy array, a pandas or Polars series, or an Arrow array or chunked array of any
# layout. None is null everywhere; pandas does not tell NaN from null, so its NaN is null too, also among the texts of
# a list.


def as_arrow(values: Any, name: str = "column") -> pa.Array | pa.ChunkedArray:
    """An Arrow array from user input: a list, NumPy, pandas, Polars or Arrow column.

    Its layout is plain, except that text may be in a dictionary, which kernels read without decoding.

    Raises ``ColumnError`` if the values cannot be one column.
    """
    if isinstance(values, pa.Array | pa.ChunkedArray):
        check(values, f"column {name!r}")
        return plain_column(values)
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        hint = "; wrap it in a list" if isinstance(values, str | bytes | bool | int | float) else ""
        raise ColumnError(f"column {name!r}: expected one value per row, got a single {type(values).__name__}{hint}")
    if type(values).__module__.startswith("polars"):
        if str(values.dtype) != "Object":
            return plain_column(values.to_arrow())
        values = values.to_list()
    if isinstance(values, np.ndarray):
        values = _from_numpy(values, name)
    pandas = hasattr(values, "iloc")
    try:
        return plain_column(pa.array(values, from_pandas=pandas or None))
    except UnicodeEncodeError as error:
        if _kinds(values) - {str, list, tuple, np.ndarray}:
            raise ColumnError(_mixed(values, name, error)) from error
        return _with_surrogates(list(values))
    except (
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        pa.ArrowNotImplementedError,
        TypeError,
        ValueError,
        OverflowError,
    ) as error:
        kinds = {type(value) for value in values if value is not None}
        if kinds == {str, list}:  # strings and lists of strings
            return as_arrow([[value] if isinstance(value, str) else value for value in values], name)
        if kinds & _NOT_NUMBERS and any(map(_is_nan, values)):  # as pandas has them in lists and records
            return as_arrow([None if _is_nan(value) else value for value in values], name)
        if isinstance(error, OverflowError):
            raise ColumnError(
                f"column {name!r}: a whole number beyond 64 bits; give such numbers as strings"
            ) from error
        raise ColumnError(_mixed(values, name, error)) from error


def as_array(values: Any, name: str = "column") -> pa.Array:
    """:func:`as_arrow` as one chunk, without dictionaries."""
    column = as_arrow(values, name)
    if not isinstance(column, pa.ChunkedArray):
        return plain_array(column)
    chunks = [plain_array(chunk) for chunk in column.chunks]
    return pa.concat_arrays(chunks) if chunks else plain_array(pa.array([], plain_type(column.type)))


def as_numbers(values: Any, name: str = "column") -> Floats:
    """A column of numbers or booleans as float64, NaN for null; raises ``ColumnError`` for another type.

    >>> as_numbers(pa.chunked_array([[True], [False, None]]))
    array([ 1.,  0., nan])
    """
    return floats_of_arrow(as_array(values, name), name)


def as_strings(values: Any, name: str = "column") -> list[str | None]:
    """A column of text as Python strings, None for null; raises ``ColumnError`` for another type.

    >>> as_strings(np.array(["a", None], dtype=object))
    ['a', None]
    """
    array = as_array(values, name)
    if not (is_text(array.type) or pa.types.is_null(array.type)):
        raise ColumnError(f"column {name!r}: expected text, got {array.type}")
    strings: list[str | None] = array.to_pylist()
    return strings


def as_matrix(values: Any, name: str = "column") -> Floats:
    """A column of equally long lists of numbers, or a two-dimensional array, as float64, NaN for null.

    >>> as_matrix([[1, None], [2, 3]])
    array([[ 1., nan],
           [ 2.,  3.]])

    Raises ``ColumnError`` for another type and for lists that differ in length.
    """
    array = as_array(values, name)
    if pa.types.is_null(array.type):
        return np.full((len(array), 0), np.nan)
    if not is_list(array.type):
        raise ColumnError(f"column {name!r}: expected a list of numbers in each row, got {array.type}")
    present = array.drop_null()
    sizes = pc.unique(pc.list_value_length(present)).to_pylist()
    if len(sizes) > 1:
        raise ColumnError(f"column {name!r}: the lists differ in length: {min(sizes)} and {max(sizes)} numbers")
    width = sizes[0] if sizes else 0
    matrix = np.full((len(array), width), np.nan)
    matrix[np.asarray(array.is_valid())] = floats_of_arrow(present.flatten(), name).reshape(len(present), width)
    return matrix


def as_text(values: Any, name: str = "column") -> Text:
    """The text of a column of any kind, as one chunk; for small columns, not for the hot path."""
    return text_of_arrow(as_array(values, name), name)


def is_column(values: Any) -> bool:
    """Whether this is one column rather than a table: a series, a NumPy or Arrow array, or a list of values.

    >>> is_column([1, 2]), is_column(np.zeros(3)), is_column([{"id": 1}]), is_column({"id": [1]})
    (True, True, False, False)
    """
    if isinstance(values, list | tuple):
        return not any(isinstance(item, Mapping | pa.Table | pa.RecordBatch) for item in values[:1])
    return isinstance(values, pa.Array | pa.ChunkedArray | np.ndarray) or type(values).__name__ == "Series"


def codes_of(values: Any, name: str = "column") -> Ints:
    """An integer code for each distinct value of a column, in order of first occurrence; -1 for null."""
    encoded = as_array(values, name).dictionary_encode()
    codes: Ints = np.asarray(encoded.indices.fill_null(-1)).astype(np.int64)
    return codes


def _from_numpy(values: npt.NDArray[Any], name: str) -> Any:
    if values.ndim in (2, 3):
        items = _from_numpy(np.ascontiguousarray(values).reshape(-1, *values.shape[2:]), name)
        if values.shape[1] == 0:  # Arrow has no lists of the fixed size 0
            return pa.array([[]] * len(values), pa.list_(pa.array(items).type))
        return pa.FixedSizeListArray.from_arrays(pa.array(items), values.shape[1])
    if values.ndim != 1:
        raise ColumnError(f"column {name!r}: expected one dimension, got {values.ndim}")
    if values.dtype.kind == "T":
        return values.astype(object)
    return values


_FIELD_TYPES = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(), "str": pa.string()}


def table_of_records(kind: type, records: Sequence[Any], names: Sequence[str]) -> pa.Table:
    """Fields of dataclass instances as columns, of the types that the dataclass ``kind`` declares.

    >>> from dataclasses import make_dataclass
    >>> Share = make_dataclass("Share", [("name", "str"), ("value", "float | None")])
    >>> table_of_records(Share, [Share("a", None)], ["value"]).schema
    value: double
    """
    types = {field.name: _FIELD_TYPES[str(field.type).removesuffix(" | None")] for field in fields(kind)}
    return pa.table({name: pa.array([getattr(one, name) for one in records], types[name]) for name in names})


def _with_surrogates(values: list[Any]) -> pa.Array:
    """A column of Python strings with lone surrogates, which UTF-8 cannot encode, made well formed."""
    nested = any(isinstance(value, list | tuple | np.ndarray) for value in values)
    if nested:
        flat = [item for value in values if value is not None for item in value]
        sizes = [0 if value is None else len(value) for value in values]
        mask = pa.array([value is None for value in values])
        offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
        return pa.ListArray.from_arrays(offsets, _with_surrogates(flat), mask=mask)
    return pa.array([None if value is None else well_formed(str(value)) for value in values], pa.large_string())


def _kinds(values: Iterable[Any]) -> set[type]:
    """The types of the values, and of the items of lists; None has no type."""
    kinds = {type(value) for value in values if value is not None}
    return kinds | {
        type(item) for value in values if isinstance(value, list | tuple) for item in value if item is not None
    }


_NOT_NUMBERS = {str, list, tuple, dict}


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _mixed(values: Any, name: str, error: Exception) -> str:
    kinds: dict[str, int] = {}
    for row, value in enumerate(values):
        if value is not None:
            kinds.setdefault(type(value).__name__, row)
    if len(kinds) > 1:
        (first, row0), (second, row1) = list(kinds.items())[:2]
        return f"column {name!r}: row {row0} is {first}, row {row1} is {second}; expected one type"
    return f"column {name!r}: {error}"


# Columns of amounts: one number per row, or a list with a number for each round, which are summed.


def totals(array: pa.Array, name: str) -> pa.Array:
    """The numbers of a column; for a list, the sum of its numbers.

    Null for null, and for a list that is empty or contains null, because an unknown amount would make the sum too
    small.  Raises ``ColumnError`` for a type that does not contain numbers.

    >>> totals(pa.array([[1.0, 2.0], [3.0, None], [], None]), "total_tokens").to_pylist()
    [3.0, None, None, None]
    """
    array = decoded(array)
    kind = array.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return array
    sizes = numpy_values(pc.list_value_length(array), null=0).astype(np.int64)
    flat, rows = array.flatten(), np.repeat(np.arange(len(array)), sizes)
    unknown = numpy_values(flat.is_null())
    numbers = np.where(unknown, 0.0, floats_of_arrow(flat, name))
    whole = (sizes > 0) & (np.bincount(rows[unknown], minlength=len(array)) == 0)
    return pa.array(np.bincount(rows, numbers, len(array)), mask=~whole)


# Texts that are lists of texts, as JSON or Python writes them: ``["Paris", "Paris, France"]``.
#
# A text is one text unless its column was declared to hold such lists, because an answer or a passage may well be one.


_QUOTED = r'(?:"(?:[^"\\]|\\.)*"|' + r"'(?:[^'\\]|\\.)*')"
_LIST = rf"(?s)^\[\s*(?:{_QUOTED}\s*(?:,\s*{_QUOTED}\s*)*)?\]\s*$"
"""A list of quoted texts, for Arrow's and Python's regular expressions."""
_BRACKET = ord("[")


def look_like_lists(column: pa.Array, text: Text) -> Flags | None:
    """Which rows of a column are one text that is a list of quoted texts; None if no row is.

    ``text`` is the view of the column's strings.

    >>> from fastmetrics.base.arrays import text_of_arrow
    >>> column = pa.array(['["Paris", "Rome"]', "[1]", None, "Paris", "['it', 'is']"])
    >>> look_like_lists(column, text_of_arrow(column, "reference")).tolist()
    [True, False, False, False, True]
    """
    if text.groups is not None:  # the rows are lists already
        return None
    begins = np.zeros(len(text), np.bool_)
    filled = np.flatnonzero(text.valid & (text.stops > text.starts))
    begins[filled] = text.data[text.starts[filled]] == _BRACKET
    places = np.flatnonzero(begins)
    if not len(places):
        return None
    candidates = decoded(column).cast(pa.large_string()).take(pa.array(places))
    begins[places] = pc.match_substring_regex(candidates, _LIST).to_numpy(zero_copy_only=False)
    return begins if begins.any() else None


def text_list(text: str) -> list[str | None] | None:
    """The texts of one that is a list; a list of one for any other text; None for white space.

    >>> text_list('["Paris", "Rome"]'), text_list("['it', 'is']"), text_list("Paris"), text_list(" ")
    (['Paris', 'Rome'], ['it', 'is'], ['Paris'], None)

    Raises ``ValueError`` for a text that begins with a bracket and is not a list of texts.
    """
    stripped = text.strip()
    if not stripped.startswith("["):
        return [text] if stripped else None
    try:
        items = json.loads(stripped)
    except (ValueError, RecursionError):
        items = _of_python(stripped)
    if not isinstance(items, list) or not all(item is None or isinstance(item, str) for item in items):
        raise ValueError(f"expected a list of texts in JSON, got {text[:40]!r}")
    return items


def _of_python(text: str) -> object:
    """The list of quoted texts that Python wrote; None if it is none."""
    if re.fullmatch(_LIST, text) is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # escape sequences that Python does not know
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None


def as_text_lists(column: pa.Array, name: str) -> pa.Array:
    """A column of texts that are lists as a column of lists; a column of another type as it is.

    Raises ``InputError`` for a text that begins with a bracket and is not a list of texts.
    """
    column = decoded(column)
    if not is_text(column.type):
        return column
    try:
        return pa.array(
            [None if text is None else text_list(text) for text in column.to_pylist()], pa.list_(pa.string())
        )
    except ValueError as error:
        raise InputError(f"column {name!r}: {error}") from None
