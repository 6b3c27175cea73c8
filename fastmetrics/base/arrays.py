"""Arrow arrays: their layouts, checks before any code reads them, and their bytes as flat NumPy arrays for kernels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, wraps
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fastmetrics.base.errors import ColumnError, InputError

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Ids: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Uint32s: TypeAlias = npt.NDArray[np.uint32]
Uint64s: TypeAlias = npt.NDArray[np.uint64]

R = TypeVar("R")

# Arrow's types and layouts, and plain ones without dictionaries and views.


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


def by_type(call: Callable[..., R]) -> Callable[..., R]:
    """``call`` with its last 512 results by type; an extension type that has no hash is looked at each time."""
    known = lru_cache(512)(call)

    @wraps(call)
    def looked_up(type_: pa.DataType, **options: Any) -> R:
        try:
            return known(type_, **options)
        except TypeError:
            return call(type_, **options)

    return looked_up


@by_type
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


def map_texts(column: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """A column whose texts, or those of its lists, a function of an array changes; a column of no texts as it is.

    >>> map_texts(pa.array([["A"], None, []]), pc.ascii_lower).to_pylist()
    [['a'], None, []]
    """
    if pt.is_dictionary(column.type) and is_text(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, map_texts(column.dictionary, change))
    column = decoded(column)
    if is_list(column.type) or is_list_view(column.type):
        lists = as_lists(column)
        mask = lists.is_null() if lists.null_count else None
        return pa.ListArray.from_arrays(lists.offsets, map_texts(lists.values, change), mask=mask)
    if not is_text(column.type):
        return column
    return change(column.cast(pa.large_string()) if pt.is_string_view(column.type) else column)


def side_by_side(columns: Sequence[pa.Array]) -> pa.ListArray:
    """Columns of texts, numbers or flags as one column of lists of texts, with one item of each column.

    >>> side_by_side([pa.array(["a", None]), pa.array([1, 2])]).to_pylist()
    [['a', '1'], [None, '2']]

    Raises ``ColumnError`` for columns of another type.
    """
    texts = []
    for column in map(decoded, columns):
        if not (
            is_text(column.type) or is_number(column.type) or pt.is_boolean(column.type) or pt.is_null(column.type)
        ):
            raise ColumnError(f"expected text, got {column.type}")
        texts.append(column.cast(pa.large_string()))
    rows, width = len(texts[0]), len(texts)
    order = np.arange(rows * width).reshape(width, rows).T.ravel()
    items = pa.concat_arrays(texts).take(arrow_numbers(order, pa.int64()))
    return pa.ListArray.from_arrays(arrow_numbers(np.arange(rows + 1) * width, pa.int32()), items)


@by_type
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


@by_type
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


def known_true(flags: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The flags, with false for null; ``fill_null`` makes a scalar, for which Arrow imports pandas.

    >>> known_true(pa.array([True, None, False])).to_pylist()
    [True, False, False]
    """
    return pc.and_kleene(flags, flags.is_valid())


_DOUBLE = pa.float64()


def arrow_numbers(values: npt.NDArray[Any], type_: pa.DataType, missing: Flags | None = None) -> pa.Array:
    """Numbers or booleans as an Arrow array of the type, null where ``missing``.

    >>> arrow_numbers(np.array([0.5, 2.0]), pa.float64(), np.array([False, True])).to_pylist()
    [0.5, None]
    """
    valid = None
    if missing is not None and missing.any():
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    if values.dtype == np.float64 and type_ == _DOUBLE:
        data = np.ascontiguousarray(values)
    else:
        data = np.ascontiguousarray(values, type_.to_pandas_dtype())
        data = np.packbits(data, bitorder="little") if pt.is_boolean(type_) else data
    return pa.Array.from_buffers(type_, len(values), [valid, pa.py_buffer(data)])


def few_texts(texts: pa.Array, rows: npt.NDArray[np.int64]) -> pa.Array:
    """The texts ``rows`` of an array, in ascending order, as large strings.

    >>> few_texts(pa.array(["a", None, "c"]), np.array([1, 2])).to_pylist()
    [None, 'c']
    """
    texts = decoded(texts)
    if pt.is_string_view(texts.type):
        texts = texts.cast(pa.large_string())
    few = texts if len(rows) == len(texts) else texts.take(arrow_numbers(rows, pa.int64()))
    return few.cast(pa.large_string())


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


# A cache of results by the identity of the objects they were computed from.


T = TypeVar("T")
Watch: TypeAlias = Callable[[str], AbstractContextManager[Any]]
"""Returns a context in which the time of a named piece of work is measured."""


class Memo:
    """Results by key and objects; the cache keeps the objects alive.

    An object's id is unique only while it lives, so a result holds references to its objects.

    ``watch`` returns a context for each result that is computed, by which a profiler times it.

    >>> memo, words = Memo(), ["a", "b"]
    >>> memo.remember("length", lambda: len(words), words), memo.remember("length", lambda: 0, words)
    (2, 2)
    """

    def __init__(self, watch: Watch | None = None) -> None:
        self._values: dict[tuple[Hashable, ...], tuple[tuple[object, ...], Any]] = {}
        self._watch = watch

    def remember(self, key: Hashable, make: Callable[[], T], *beside: object) -> T:
        """The cached result of ``make`` for ``key`` and the objects ``beside``."""
        of = (key, *map(id, beside)) if beside else (key,)
        found = self._values.get(of)
        if found is None:
            found = self._values[of] = beside, make() if self._watch is None else self._watched(key, make)
        result: T = found[1]
        return result

    def _watched(self, key: Hashable, make: Callable[[], T]) -> T:
        assert self._watch is not None
        name = " ".join(part for part in key if isinstance(part, str)) if isinstance(key, tuple) else str(key)
        with self._watch(f"make {name}"):
            return make()


# Flat arrays for kernels: text, tokens and numbers, and the precision of numbers.
#
# A column of strings is UTF-8 bytes with a start and a stop offset for each string, so slices, dictionary columns,
# lists of strings and repeated rows are views of the same bytes.


_EMPTY, _NO_ROWS = np.zeros(0, np.uint8), np.zeros(0, np.int64)

HIGH, ANGLE, PIPE, BRACKET, BRACE, HEADING, SHORT = 1, 2, 4, 8, 16, 32, 64
"""Signs of a text: it may hold a character beyond ASCII, a ``<`` or a ``|``, begin with a bracket, with a brace, or
as the thoughts of a model do, or be short and hold a character beyond ASCII."""
EVERY = 127
SHORT_BYTES = 200
"""The bytes of the longest texts that are short."""


@dataclass(frozen=True, eq=False)
class Text:
    """Strings: the bytes of string i are ``data[starts[i]:stops[i]]``.

    ``valid[i]`` is False where row i is null.  In a list column, ``groups`` has one entry more than there are rows, and
    row r has the strings ``groups[r]:groups[r + 1]``; otherwise it is None and there is one string per row.  ``signs``
    are those that each string may have, seen when its encoding was checked; None if nobody has looked.
    """

    data: Bytes
    starts: Ints
    stops: Ints
    valid: Flags
    groups: Ints | None = None
    signs: Bytes | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, rows: Ints) -> Text:
        """The strings ``rows``, which may repeat; the bytes are shared."""
        signs = None if self.signs is None else self.signs[rows]
        return replace(self, starts=self.starts[rows], stops=self.stops[rows], signs=signs)

    def with_sign(self, signs: int) -> Ints:
        """The strings that may have one of these signs, a superset of those that do.

        >>> text_of_strings(["a", "b"]).with_sign(HIGH).tolist()
        [0, 1]
        """
        if self.signs is None:
            return np.arange(len(self))
        return np.flatnonzero(self.signs & signs) if self.all_signs & signs else _NO_ROWS

    @cached_property
    def all_signs(self) -> int:
        """The signs that any of the strings may have."""
        return EVERY if self.signs is None else int(np.bitwise_or.reduce(self.signs, initial=0))

    def strings(self) -> list[str]:
        """The strings as Python objects; for few rows and for output, not for whole columns on the hot path."""
        data = self.data
        pairs = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return [data[a:b].tobytes().decode() for a, b in pairs]


@dataclass(frozen=True, eq=False)
class Tokens:
    """Token ids: those of text i are ``ids[starts[i]:stops[i]]``, all below ``n_words``.

    Equal tokens have equal ids in all columns of one batch under one convention.  ``memo`` caches results of kernels.
    """

    ids: Ids
    starts: Ints
    stops: Ints
    n_words: int
    memo: Memo = field(default_factory=Memo, repr=False)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def counts(self) -> Ints:
        """Number of tokens of each text."""
        return self.stops - self.starts

    def take(self, rows: Ints) -> Tokens:
        """The texts ``rows``, which may repeat; the ids are shared."""
        return replace(self, starts=self.starts[rows], stops=self.stops[rows], memo=Memo())

    def with_rows(self, rows: Ints, others: Tokens) -> Tokens:
        """The same texts, but ``rows`` have the tokens of ``others``, which were numbered later."""
        starts, stops = self.starts.copy(), self.stops.copy()
        starts[rows], stops[rows] = others.starts + len(self.ids), others.stops + len(self.ids)
        return Tokens(np.concatenate([self.ids, others.ids]), starts, stops, others.n_words)

    def where(self, keep: Flags) -> Tokens:
        """The same texts without the tokens for whose id ``keep`` is False."""
        return self.masked(keep[self.ids])

    def masked(self, mask: Flags) -> Tokens:
        """The same texts without the tokens at whose place in ``ids`` the mask is False."""
        before = np.concatenate([[0], np.cumsum(mask)])
        return replace(self, ids=self.ids[mask], starts=before[self.starts], stops=before[self.stops], memo=Memo())


def well_formed(string: str) -> str:
    """The string with each lone surrogate replaced by U+FFFD; a surrogate pair becomes its character.

    >>> well_formed("a" + chr(0xD800)) == "a" + chr(0xFFFD)
    True
    """
    try:
        string.encode()
    except UnicodeEncodeError:
        return string.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return string


def array_of_strings(values: Sequence[Any]) -> pa.Array:
    """Strings, or lists of strings, as Arrow text; lone surrogates, which UTF-8 cannot encode, become well formed.

    >>> array_of_strings([["a", chr(0xD800)], None]).to_pylist() == [["a", chr(0xFFFD)], None]
    True
    """
    if any(isinstance(value, list | tuple | np.ndarray) for value in values):
        flat = [item for value in values if value is not None for item in value]
        sizes = [0 if value is None else len(value) for value in values]
        mask = pa.array([value is None for value in values])
        offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
        return pa.ListArray.from_arrays(offsets, array_of_strings(flat), mask=mask)
    return pa.array([None if value is None else well_formed(str(value)) for value in values], pa.large_string())


def arrow_texts(strings: Iterable[str | None]) -> pa.Array:
    """Strings as Arrow text by their bytes, null for None; ``pa.array`` imports pandas.

    >>> arrow_texts(["a", None, ""]).to_pylist()
    ['a', None, '']
    """
    values = list(strings)
    text = text_of_strings("" if string is None else string for string in values)
    bounds = np.concatenate([text.starts, text.stops[-1:]]) if values else np.zeros(1, np.int64)
    valid = np.packbits(np.array([string is not None for string in values], np.bool_), bitorder="little")
    buffers = [pa.py_buffer(valid), pa.py_buffer(bounds), pa.py_buffer(text.data)]
    return pa.Array.from_buffers(pa.large_string(), len(values), buffers)


def text_of_strings(strings: Iterable[str]) -> Text:
    """Text from Python strings."""
    encoded = [well_formed(string).encode() for string in strings]
    bounds = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(piece) for piece in encoded], out=bounds[1:])
    data = np.frombuffer(b"".join(encoded), np.uint8)
    return Text(data, bounds[:-1], bounds[1:], np.ones(len(encoded), np.bool_))


def is_valid(array: pa.Array) -> bool:
    """Whether the offsets of an array of text are valid, and its texts UTF-8."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def every_sign(array: pa.Array) -> Bytes | None:
    """All signs for each text of an array, None if the texts are not UTF-8."""
    return np.full(len(array), EVERY, np.uint8) if is_valid(array) else None


def text_of_arrow(
    array: pa.Array, name: str, lists: bool = False, signs: Callable[[pa.Array], Bytes | None] = every_sign
) -> Text:
    """A view of a column of strings (with ``lists``, also of lists of strings); only the offsets are copied.

    Nulls inside a list are dropped.  ``signs`` checks an array of strings and returns what may be in each, None if they
    are not UTF-8; ``text.text_keys`` has a faster one.  Raises ``ColumnError`` for another type and ``InputError``,
    naming the row, for bytes that are not UTF-8.
    """
    kind = array.type
    if lists and (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        sizes = numpy_values(pc.list_value_length(array), null=0).astype(np.int64)
        flat = text_of_arrow(array.flatten(), name, signs=signs)
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        present = np.concatenate([[0], np.cumsum(flat.valid)])
        groups = present[bounds]
        return replace(flat.take(np.flatnonzero(flat.valid)), valid=_validity(array), groups=groups)
    if pa.types.is_dictionary(kind):
        if lists and hasattr(kind.value_type, "value_type"):
            return text_of_arrow(decoded(array), name, lists, signs)
        words = text_of_arrow(array.dictionary, name, signs=signs)
        rows = numpy_values(array.indices, null=0).astype(np.int64)
        valid = _validity(array)
        if len(words) == 0:
            words = text_of_strings([""])
        elif not words.valid.all():
            valid &= words.valid[rows]
        return _without_hidden_bytes(replace(words.take(rows), valid=valid))
    if pa.types.is_null(kind):
        nothing = np.zeros(len(array), np.int64)
        return Text(_EMPTY, nothing, nothing, np.zeros(len(array), np.bool_))
    if pa.types.is_string_view(kind):
        array = array.cast(pa.large_string())
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise ColumnError(f"column {name!r}: expected text{' or lists of it' if lists else ''}, got {kind}")
    seen = signs(array)
    if seen is None:
        _check_encoding(array, name)
    return _text_of_strings_array(array, seen)


def _text_of_strings_array(array: pa.Array, signs: Bytes | None) -> Text:
    _, offsets, data = array.buffers()
    wide = np.int64 if pa.types.is_large_string(array.type) else np.int32
    if offsets is None or data is None or len(array) == 0:
        nothing = np.zeros(len(array), np.int64)
        return Text(_EMPTY, nothing, nothing, _validity(array))
    bounds = np.frombuffer(offsets, wide, len(array) + 1, array.offset * np.dtype(wide).itemsize).astype(np.int64)
    whole = np.frombuffer(data, np.uint8)
    return _without_hidden_bytes(Text(whole, bounds[:-1], bounds[1:], _validity(array), signs=signs))


def _without_hidden_bytes(text: Text) -> Text:
    """The text with empty strings in null rows, where Arrow may hold any bytes, and a dictionary another row's text."""
    if text.valid.all():
        return text
    return replace(text, stops=np.where(text.valid, text.stops, text.starts))


def _check_encoding(array: pa.Array, name: str) -> None:
    """Raise an ``InputError`` that names the first row that is not UTF-8, if there is one."""
    for row, value in enumerate(array.cast(pa.large_binary())):
        try:
            (value.as_py() or b"").decode()
        except UnicodeDecodeError as reason:
            at = f"byte 0x{reason.object[reason.start]:02x} at byte {reason.start}"
            raise InputError(f"column {name!r}, row {row}: invalid UTF-8: {at}") from reason


def _validity(array: pa.Array) -> Flags:
    if array.null_count == 0:
        return np.ones(len(array), np.bool_)
    return numpy_values(array.is_valid())


def floats_of_arrow(array: pa.Array, name: str) -> Floats:
    """A column of numbers as float64, NaN for null.  Raises ``ColumnError`` for a type that is not numeric."""
    array = decoded(array)
    kind = array.type
    if not (is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise ColumnError(f"column {name!r}: expected numbers, got {kind}")
    numbers: Floats = numpy_values(doubles(array))
    return numbers


def doubles(array: pa.Array) -> pa.Array:
    """Numbers or booleans as an Arrow array of float64; decimals are rounded correctly, which Arrow's cast does not."""
    if pa.types.is_boolean(array.type) or pa.types.is_null(array.type):
        array = array.cast(pa.int8())
    elif pa.types.is_decimal(array.type):
        array = array.cast(pa.string())
    return array.cast(pa.float64(), safe=False)


_NARROW = ((pa.types.is_float16, np.float16), (pa.types.is_float32, np.float32))


def narrowest(kinds: Sequence[pa.DataType]) -> type[np.floating] | None:
    """The narrowest floating type below float64 among these types; None if there is none.

    >>> narrowest([pa.float64(), pa.float32()])
    <class 'numpy.float32'>
    """
    return next((narrow for fits, narrow in _NARROW if any(map(fits, kinds))), None)


def rounded(values: Floats, kind: type[np.floating] | None) -> Floats:
    """The values as a narrower type stores them: 0.7 of float64 then equals 0.7 of float32."""
    if kind is None:
        return values
    with np.errstate(over="ignore"):
        return np.asarray(values.astype(kind), np.float64)


def rounding_error(kind: type[np.floating] | None) -> float:
    """The relative error of a difference of two values of a type (None: float64)."""
    return 2 * float(np.finfo(np.float64 if kind is None else kind).eps)


# Arrays that become longer.


Scalar = TypeVar("Scalar", bound=np.generic)


class GrowingArray(Generic[Scalar]):
    """Values to which others are added, in an array whose room doubles when it is full.

    To extend n times takes time in proportion to the values appended, and not to all values n times.
    """

    def __init__(self, values: npt.NDArray[Scalar]) -> None:
        self._room = values
        self._size = len(values)

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> npt.NDArray[Scalar]:
        """The values; a view that stays as it is when others are added."""
        return self._room[: self._size]

    def extend(self, more: npt.NDArray[Any]) -> None:
        """Add values, as the type of those that there are."""
        size = self._size + len(more)
        if size > len(self._room):
            room = np.empty(max(size, 2 * len(self._room)), self._room.dtype)
            room[: self._size] = self.values
            self._room = room
        self._room[self._size : size] = more
        self._size = size
