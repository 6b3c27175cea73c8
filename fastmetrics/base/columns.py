"""Users' tables and columns of any kind of container as Arrow data: the only converter of user input.

**Columns of any kind** (lists, NumPy, pandas, Polars, Arrow in every layout) are converted by ``base/columns.py`` and
by nothing else, so all public functions accept the same kinds and give the same results; a test calls each function
with each kind. Dictionaries of text keep their layout, because kernels read them without decoding. The bytes of null
text are never read: Arrow may hold anything there.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fastmetrics.base.arrays import (
    Floats,
    Ints,
    Text,
    array_of_strings,
    check,
    check_table,
    decoded,
    floats_of_arrow,
    is_list,
    is_number,
    is_text,
    numpy_values,
    plain,
    plain_array,
    plain_column,
    plain_table,
    plain_type,
    text_of_arrow,
)
from fastmetrics.base.errors import Argument, ColumnError, UnknownColumnError
from fastmetrics.base.limits import SIZES
from fastmetrics.base.paths import Path, PathError, empty_because, is_path, parse, text_in, text_within, type_of
from fastmetrics.base.text_structure import FLAGS, NO_ANSWERS, is_value

# The types that a column of each kind may have.
#
# A *kind* is declared in ``fastmetrics.base.column_names`` (text, texts, ids, id, number, amounts, numbers, flag,
# time, vector, vectors), or ``any`` for a column that is only copied.  Scores read a column of text as a ``value``, and
# one of texts as ``values``, which may be numbers and flags too; metrics that read JSON ask for ``json`` and ``jsons``.


def _is_flag(type_: pa.DataType) -> bool:
    return bool(pt.is_boolean(type_) or pt.is_integer(type_) or pt.is_floating(type_)) or is_text(type_)


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


def _is_value(type_: pa.DataType) -> bool:
    return is_text(type_) or is_value(type_)


_FITS: Mapping[str, tuple[str, Callable[[pa.DataType], bool]]] = {
    "text": ("text", is_text),
    "texts": ("text or lists of it", lambda type_: is_text(type_) or _list_of(is_text)(type_)),
    "value": ("text", lambda type_: _is_value(type_) or _list_of(_is_value)(type_)),
    "values": ("text or lists of it", lambda type_: _is_value(type_) or _list_of(_is_value)(type_)),
    "choices": (
        "lists of texts, or objects with texts and labels",
        lambda type_: (
            _is_value(type_)
            or pt.is_struct(type_)
            or _list_of(lambda item: _is_value(item) or pt.is_struct(item))(type_)
        ),
    ),
    "ids": ("lists of strings or of whole numbers", _list_of(_is_id)),
    "id_groups": (
        "lists of strings or of whole numbers, or lists of such lists",
        lambda type_: _list_of(_is_id)(type_) or _list_of(_list_of(_is_id))(type_),
    ),
    "id": ("strings or whole numbers", _is_id),
    "number": ("numbers", _is_count),
    "amounts": ("numbers or lists of numbers", lambda type_: _is_count(type_) or _list_of(_is_count)(type_)),
    "numbers": ("lists of numbers", _list_of(_is_count)),
    "flag": (FLAGS, _is_flag),
    "time": ("times: dates, ISO 8601, or seconds since 1970", _is_time),
    "vector": ("lists of numbers", _list_of(_is_coordinate)),
    "vectors": (
        "lists of numbers, or lists of such lists",
        _list_of(lambda type_: _is_coordinate(type_) or _list_of(_is_coordinate)(type_)),
    ),
    **dict.fromkeys(("any", "json", "jsons"), ("anything but unions", lambda type_: not pt.is_union(type_))),
}


_LISTED = ("ids", "id_groups", "numbers", "vector", "vectors")
"""The kinds of columns that hold a list in each row."""


def fits(kind: str, type_: pa.DataType) -> bool:
    """Whether a column of this type can be of this kind."""
    return pt.is_null(type_) or _FITS[kind][1](plain(type_))


def check_type(where: str, name: str, kind: str, type_: pa.DataType) -> None:
    """Raise ``ColumnError`` unless a column of this type can be of this kind; ``where`` prefixes the message."""
    if not fits(kind, type_):
        way = (
            ["; ", Argument("lists", name), " reads texts that are lists"]
            if kind in _LISTED and fits("text", type_)
            else []
        )
        of_text = kind in ("text", "texts", "value", "values")
        within = text_within(type_) if of_text else None
        path = "" if within is None else f"; columns (--columns) can name a path within, as {name}{within}"
        if of_text and is_list(type_) and is_list(type_.value_type):
            path += f"; lists of log-likelihoods {NO_ANSWERS}"
        raise ColumnError(f"{where}column {name!r}: expected {_FITS[kind][0]}, got {type_}{path}", *way)


# One column of any kind of container, as Arrow arrays, numbers, strings or codes.
#
# A column is a list, a tuple, a NumPy array, a pandas or Polars series, or an Arrow array or chunked array of any
# layout. None is null everywhere; pandas does not tell NaN from null, so its NaN is null too, also among the texts of
# a list.


def as_arrow(values: Any, name: str = "column") -> pa.Array | pa.ChunkedArray:
    """An Arrow array from user input: a list, NumPy, pandas, Polars or Arrow column.

    Its layout is plain, except that text may be in a dictionary, which kernels read without decoding.

    Raises ``ColumnError`` if the values cannot be one column.
    """
    column = _converted(values, name)
    if column is values:
        check(column, f"column {name!r}")
    return plain_column(column)


def _converted(values: Any, name: str) -> pa.Array | pa.ChunkedArray:
    """The values as Arrow data in any layout."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        hint = "; wrap it in a list" if isinstance(values, str | bytes | bool | int | float) else ""
        raise ColumnError(f"column {name!r}: expected one value per row, got a single {type(values).__name__}{hint}")
    if type(values).__module__.startswith("polars"):
        if str(values.dtype) != "Object":
            return values.to_arrow()
        values = values.to_list()
    if isinstance(values, np.ndarray):
        values = _from_numpy(values, name)
    pandas = hasattr(values, "iloc")
    try:
        return pa.array(values, from_pandas=pandas or None)
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
            return _converted([[value] if isinstance(value, str) else value for value in values], name)
        if kinds & _NOT_NUMBERS and any(map(_is_nan, values)):  # as pandas has them in lists and records
            return _converted([None if _is_nan(value) else value for value in values], name)
        if isinstance(error, OverflowError):
            raise ColumnError(
                f"column {name!r}: a whole number beyond 64 bits; give such numbers as strings"
            ) from error
        if not isinstance(error, UnicodeEncodeError) or _kinds(values) - {str, list, tuple, np.ndarray}:
            raise ColumnError(_mixed(values, name, error)) from error
        return array_of_strings(list(values))


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
    items = {type(one).__name__ for value in values if isinstance(value, list | tuple) for one in value} - {"NoneType"}
    if len(items) > 1:
        way = ": write a name alone as an object too, {'name': 'search'}, or all rows as texts of JSON"
        both = f"column {name!r}: its lists hold {' and '.join(sorted(items))}; expected one type"
        return both + way * (items == {"dict", "str"})
    if kinds and isinstance(error, pa.ArrowInvalid | pa.ArrowTypeError):
        kind = next(iter(kinds))
        return (
            f"column {name!r}: the values, of type {kind}, hold several types; expected text, numbers or lists of one"
        )
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


# Tables of any kind: their column names, and selected columns as Arrow tables.
#
# A column is converted only on request, so the types of other columns do not matter.


@dataclass(frozen=True)
class Frame:
    """An opened table: its column names as text, and a function that reads some columns, chunk by chunk."""

    names: list[str]
    pieces: Callable[[Sequence[str]], Iterable[pa.Table]]
    index: Any = None
    """The index of a pandas frame."""
    attributes: Mapping[Any, Any] = field(default_factory=dict)
    """What a pandas frame carries beside its columns (``attrs``)."""
    firsts: Callable[[], Mapping[str, Any]] = dict
    """The first values of columns that may hold objects, or their types."""

    @property
    def within(self) -> dict[str, str]:
        """The paths to the text in columns that hold objects with it, as far as the first rows show them."""
        nested = {name: first for name, first in self.firsts().items() if not isinstance(first, str)}
        found = {name: text_in(type_of(first)) for name, first in nested.items()}
        return {name: path for name, path in found.items() if path is not None}

    def read(self, names: Sequence[str]) -> tuple[pa.Schema, Iterator[pa.Table]]:
        """The schema of the columns ``names``, paths among them, and their rows.

        Raises ``ColumnError`` for a duplicate name, and for a path that leads nowhere.
        """
        paths = {name: parse(name) for name in names if name not in list(self.names) and is_path(name)}
        roots = [root for name in names for root in (paths[name].columns(self.names) if name in paths else [name])]
        roots = list(dict.fromkeys(roots))
        _once(self.names, roots)
        pieces = iter(self.pieces(roots))
        first = next(pieces)
        if paths:
            pieces = (_with_paths(piece, names, paths) for piece in pieces)
            first = _with_paths(first, names, paths, check=True)
        return first.schema, itertools.chain([first], pieces)


def _with_paths(piece: pa.Table, names: Sequence[str], paths: Mapping[str, Path], *, check: bool = False) -> pa.Table:
    """The columns ``names`` of a piece of a table, some of which are paths; ``check`` that these have values."""
    whole = {name: piece.column(name) for name in piece.column_names}
    columns = {}
    for name in names:
        try:
            columns[name] = paths[name].column(whole) if name in paths else whole[name]
        except PathError as error:
            raise UnknownColumnError(f"path {name!r}: {error}") from error
        if check and name in paths and columns[name].null_count == len(columns[name]):
            reason = empty_because(paths[name], {root: whole[root] for root in paths[name].columns(whole)})
            if reason is not None:
                raise ColumnError(f"path {name!r}: {reason}")
    return pa.table(columns)


def open_frame(table: Any, name: str = "") -> Frame:
    """Open a table of any kind; no column is converted yet.  ``name`` is what errors call it.

    Supported are Arrow tables, record batches and readers, lists and iterators of tables and batches, pandas and Polars
    frames, lazy frames, DuckDB relations, Hugging Face datasets, dicts of columns, lists and iterators of dicts, and
    any object that exports an Arrow stream.
    Raises ``ColumnError`` for anything else.

    >>> frame = open_frame({"answer": ["a"], "meta": [object()]})
    >>> frame.names
    ['answer', 'meta']
    >>> frame.read(["answer"])[0]
    answer: string
    """
    if isinstance(table, pa.Table | pa.RecordBatch):
        return _of_pieces(table.schema, [table])
    if isinstance(table, pa.RecordBatchReader):
        return _of_pieces(table.schema, itertools.chain([table.schema.empty_table()], table))
    if isinstance(table, Mapping):
        _check_split(table)
        given = by_index(table)
        return _of_columns(given, lambda _, key: given[key])
    if isinstance(table, list | tuple | Iterator):
        return _of_items(table, name)
    if hasattr(table, "collect_schema") and hasattr(table, "collect"):
        from polars import selectors

        names = table.collect_schema().names()
        return _of_selected(names, lambda columns: table.select(selectors.by_name(*columns)).collect())
    if hasattr(table, "iloc") and hasattr(table, "columns"):
        return _of_columns(table.columns, lambda place, _: table.iloc[:, place], table.index, table.attrs)
    if is_relation(table):
        # a projection without columns would have no rows
        quoted = {name: '"' + name.replace('"', '""') + '"' for name in table.columns}
        return _of_selected(
            table.columns,
            lambda columns: table.project(", ".join(quoted[name] for name in columns) or "1").to_arrow_reader(
                SIZES.read_batch_rows
            ),
        )
    if is_dataset(table):
        if table.features is None:
            raise ColumnError(
                "the streamed dataset does not know its columns: call its cast() with features, or load it"
            )
        return _of_selected(table.features, lambda columns: _rows_of(table, columns))
    if hasattr(table, "get_column"):
        return _of_columns(table.columns, lambda _, name: table.get_column(name))
    kind = f"{name and name + ': '}expected a table, got a value of type {type(table).__name__}"
    if hasattr(table, "__arrow_c_stream__"):
        try:
            return open_frame(pa.RecordBatchReader.from_stream(table))
        except pa.ArrowInvalid as error:  # the stream contains a single column
            raise ColumnError(kind) from error
    raise ColumnError(kind)


def of_kinds(table: pa.Table, kinds: Mapping[str, str]) -> pa.Table:
    """The table, whose columns are checked to be of their kinds; raises ``ColumnError`` for another type.

    A column without any value is null if it is not of its kind: pandas types a column of NaN as numbers.

    >>> of_kinds(pa.table({"answer": pa.array([None], pa.float64())}), {"answer": "text"}).schema
    answer: null
    """
    for name, kind in kinds.items():
        column = table.column(name)
        if column.null_count == len(column) and not fits(kind, column.type):
            table = table.set_column(table.schema.get_field_index(name), name, pa.nulls(len(column)))
        check_type("", name, kind, table.schema.field(name).type)
    return table


def aligned_table(columns: Mapping[str, Any]) -> pa.Table:
    """A table from columns; raises ``ColumnError`` if their lengths differ."""
    lengths = {name: len(array) for name, array in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ColumnError(f"columns differ in length: {', '.join(f'{n!r} has {k}' for n, k in lengths.items())}")
    return pa.table(dict(columns))


def _of_columns(
    keys: Iterable[Any],
    column: Callable[[int, Any], Any],
    index: Any = None,
    attributes: Mapping[Any, Any] = MappingProxyType({}),
) -> Frame:
    """A table from columns: ``column(place, key)`` returns the values of one."""
    keys = list(keys)
    names = [str(key) for key in keys]

    def pieces(columns: Sequence[str]) -> list[pa.Table]:
        places = {name: names.index(name) for name in columns}
        return [aligned_table({name: as_arrow(column(at, keys[at]), name) for name, at in places.items()})]

    def first(values: Any) -> Any:
        # the values of Arrow are not touched: damaged ones are found when they are read
        return values.type if isinstance(values, pa.Array | pa.ChunkedArray) else next(iter(values), None)

    def firsts() -> dict[str, Any]:
        columns = {name: column(at, keys[at]) for at, name in enumerate(names)}
        return {name: first(values) for name, values in columns.items() if hasattr(values, "__len__")}

    return Frame(names, pieces, index, attributes, firsts)


def _of_items(table: Iterable[Any], name: str) -> Frame:
    """A table from a list or iterator of tables, or of dicts, one per row."""
    items = iter(table)
    head = list(itertools.islice(items, 1))
    if head and isinstance(head[0], pa.Table | pa.RecordBatch):
        return _of_pieces(head[0].schema, table if isinstance(table, list | tuple) else itertools.chain(head, items))
    rows = [*head, *items]
    for row in rows:
        if not isinstance(row, Mapping):
            kinds = f"a {type(table).__name__} with a {type(row).__name__}"
            expected = "expected a table, a list of dicts or a list of record batches"
            raise ColumnError(f"{name and name + ': '}{expected}, got {kinds}")
    keys = dict.fromkeys(key for row in rows for key in row)
    frame = _of_columns(keys, lambda _, key: [row.get(key) for row in rows])
    return replace(frame, firsts=lambda: {str(key): value for row in rows[:1] for key, value in row.items()})


def _of_pieces(schema: pa.Schema, tables: Iterable[Any]) -> Frame:
    """A table from consecutive Arrow tables and record batches that have the requested columns."""

    def pieces(columns: Sequence[str]) -> Iterator[pa.Table]:
        for place, piece in enumerate(tables):
            if not isinstance(piece, pa.Table | pa.RecordBatch):
                raise ColumnError(
                    f"item {place}: expected an Arrow table or record batch, got a {type(piece).__name__}"
                )
            have = piece.schema.names
            _once(have, columns)
            for name in columns:
                if name not in have:
                    raise ColumnError(f"item {place} lacks the column {name!r}, which the first item has")
            chosen = piece.select([have.index(name) for name in columns])
            check_table(chosen)
            yield plain_table(chosen if isinstance(chosen, pa.Table) else pa.Table.from_batches([chosen]))

    return Frame(schema.names, pieces, firsts=lambda: dict(zip(schema.names, schema.types, strict=True)))


def _of_selected(names: Iterable[str], select: Callable[[list[str]], Any]) -> Frame:
    """A table of a tool that gives only the requested columns, as a table or a stream of Arrow."""
    return Frame(list(names), lambda columns: open_frame(select(list(columns))).pieces(columns))


def is_relation(table: Any) -> bool:
    """Whether this is a relation of DuckDB: a query that has not been run."""
    return type(table).__name__ == "DuckDBPyRelation"


def is_dataset(table: Any) -> bool:
    """Whether this is a Hugging Face dataset, read from disk or streamed."""
    return type(table).__module__.startswith("datasets.") and hasattr(table, "select_columns")


def _rows_of(dataset: Any, columns: list[str]) -> Iterator[pa.Table]:
    """The rows of a Hugging Face dataset, in its selection and order."""
    arrow = dataset.select_columns(columns).with_format("arrow")
    return itertools.chain([arrow.features.arrow_schema.empty_table()], arrow.iter(SIZES.read_batch_rows))


def _check_split(table: Mapping[Any, Any]) -> None:
    """Raise ``ColumnError`` for a dictionary of datasets, each of which is a table."""
    if any(is_dataset(split) for split in table.values()):
        splits = ", ".join(map(repr, table))
        raise ColumnError(f"expected one dataset, got a dictionary of {splits}; choose one, as in datasets['test']")


def _once(names: Iterable[str], columns: Sequence[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1 and name in columns:
            raise ColumnError(f"the table has {count} columns {name!r}; rename all but one")


def with_index(scores: pa.Table, index: Any) -> pa.Table:
    """The scores with the index of a pandas frame, stored as Arrow does, so that ``to_pandas`` restores it.

    The index is stored as columns, even a range index, so that it stays with its rows when the table is sorted or
    filtered.  An index level with the name of a score column loses its name.  Raises ``ColumnError`` for labels that
    cannot be a column.
    """
    import pandas as pd

    counts = Counter([*scores.column_names, *map(str, index.names)])
    names = [None if name is None or counts[str(name)] > 1 else str(name) for name in index.names]
    blank = pd.DataFrame(index=index.set_names(names), columns=pd.Index([], dtype=object))
    try:
        labels = pa.Table.from_pandas(blank, preserve_index=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ColumnError(
            f"the frame's index cannot be copied to the scores: {error}; call reset_index() first"
        ) from error
    for labelled, column in zip(labels.schema, labels.columns, strict=True):
        scores = scores.append_column(labelled, column)
    return scores.replace_schema_metadata({**(scores.schema.metadata or {}), **labels.schema.metadata})


def with_index_of(table: pa.Table, given: Any) -> pa.Table:
    """The table with the index of the pandas frame or series whose rows it has, unless that is the default range."""
    if not (hasattr(given, "iloc") and hasattr(given, "index")):
        return table
    import pandas as pd

    index = given.index
    return table if index.name is None and index.equals(pd.RangeIndex(len(index))) else with_index(table, index)


def tells_rows(index: Any) -> bool:
    """Whether a pandas index tells rows apart: its labels are unique, and not the default range."""
    import pandas as pd

    return bool(index.is_unique) and not index.equals(pd.RangeIndex(len(index)))


def ids_in_index(table: Any, *, named: bool = True) -> pa.Array | None:
    """The labels of the index of a pandas frame or series, if they are ids: unique texts or integers, with a name.

    Where ``named`` is False, an index without one counts too, if it tells rows apart.  None for anything else.
    """
    index = getattr(table, "index", None) if hasattr(table, "iloc") else None
    if index is None or index.nlevels > 1 or not index.is_unique or (index.name is None and named):
        return None
    if index.name is None and not tells_rows(index):
        return None
    try:
        labels = as_array(index, str(index.name))
    except ColumnError:  # of several types
        return None
    return None if labels.null_count or not _is_id(labels.type) else labels


def ids_of_series(*columns: Any) -> pa.Array | None:
    """The ids in the index of the first of several columns that is a pandas series with such an index."""
    return next((ids for column in columns if (ids := ids_in_index(column, named=False)) is not None), None)


def by_index(columns: Mapping[Any, Any]) -> dict[Any, Any]:
    """The columns of one call, of which pandas series with an index that tells rows apart are in the same order.

    Raises ``ColumnError`` if two such indexes do not have the same labels.

    >>> import pandas as pd
    >>> answer, reference = pd.Series(["a", "b"], index=["x", "y"]), pd.Series(["c", "d"], index=["y", "x"])
    >>> by_index({"answer": answer, "reference": reference})["reference"].tolist()
    ['d', 'c']
    """
    ordered, first = dict(columns), None
    for name, values in columns.items():
        if not (hasattr(values, "iloc") and hasattr(values, "index") and tells_rows(values.index)):
            continue
        first = first or name
        index = columns[first].index
        if len(values.index) == len(index) and not values.index.equals(index):
            places = values.index.get_indexer(index)
            if (places < 0).any():
                label = index[int((places < 0).argmax())]
                raise ColumnError(
                    f"columns {first!r} and {name!r} are series whose indexes differ: {name!r} lacks the label "
                    f"{label}; pair them by position with .to_numpy(), or give both the same index"
                )
            ordered[name] = values.iloc[places]
    return ordered


def as_given(table: pa.Table, given: Any, index: Sequence[str] = ()) -> Any:
    """A table as a frame of pandas, with these columns as its index, or of Polars, if such a one was given.

    Metadata of scores are in ``attrs`` of pandas, as :func:`fastmetrics.with_scores` has them.
    """
    if hasattr(given, "iloc") and hasattr(given, "columns"):
        frame, stored = table.to_pandas(), table.schema.metadata or {}
        labels = [name for name in index if name in frame.columns]
        frame = frame.set_index(labels) if labels else frame
        frame.index.names = [None if str(name).startswith("__index_level_") else name for name in frame.index.names]
        told = {key.decode(): text.decode() for key, text in stored.items() if key != b"pandas"}
        frame.attrs = {**given.attrs, **told}
        return frame
    if type(given).__module__.startswith("polars") and hasattr(given, "get_column"):
        import polars as pl

        return pl.from_arrow(table)
    return table


def index_columns(schema: pa.Schema) -> set[str]:
    """The columns of an Arrow table that contain the index of a pandas frame."""
    index_names = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    return {name for name in schema.names if name in index_names or re.fullmatch(r"__index_level_\d+__", name)}
