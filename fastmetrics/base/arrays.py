"""Flat NumPy arrays for kernels: text, tokens and numbers; arrays that grow; what was computed from an array, kept
with it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrow import decoded, is_number, numpy_values
from fastmetrics.base.errors import ColumnError, InputError

# A cache of results by the identity of the objects they were computed from.


T = TypeVar("T")


class Memo:
    """Results by key and objects; the cache keeps the objects alive.

    An object's id is unique only while it lives, so a result holds references to its objects.

    >>> memo, words = Memo(), ["a", "b"]
    >>> memo.of("length", (words,), lambda: len(words)), memo.of("length", (words,), lambda: 0)
    (2, 2)
    """

    def __init__(self) -> None:
        self._values: dict[tuple[Hashable, ...], tuple[tuple[object, ...], Any]] = {}

    def holds(self, what: Hashable, beside: tuple[object, ...] = ()) -> bool:
        """Whether the result is cached."""
        return (what, *map(id, beside)) in self._values

    def of(self, what: Hashable, beside: tuple[object, ...], make: Callable[[], T]) -> T:
        """The cached result of ``make`` for ``what`` and these objects."""
        key = (what, *map(id, beside))
        if key not in self._values:
            self._values[key] = beside, make()
        result: T = self._values[key][1]
        return result


# Flat arrays for kernels: text, tokens and numbers, and the precision of numbers.
#
# A column of strings is UTF-8 bytes with a start and a stop offset for each string, so slices, dictionary columns,
# lists of strings and repeated rows are views of the same bytes.


Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Ids: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Uint32s: TypeAlias = npt.NDArray[np.uint32]
Uint64s: TypeAlias = npt.NDArray[np.uint64]

_EMPTY = np.zeros(0, np.uint8)


@dataclass(frozen=True, eq=False)
class Text:
    """Strings: the bytes of string i are ``data[starts[i]:stops[i]]``.

    ``valid[i]`` is False where row i is null.  In a list column, ``groups`` has one entry more than there are rows, and
    row r has the strings ``groups[r]:groups[r + 1]``; otherwise it is None and there is one string per row.
    """

    data: Bytes
    starts: Ints
    stops: Ints
    valid: Flags
    groups: Ints | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, rows: Ints) -> Text:
        """The strings ``rows``, which may repeat; the bytes are shared."""
        return replace(self, starts=self.starts[rows], stops=self.stops[rows])

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
        mask = keep[self.ids]
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


def text_of_arrow(
    array: pa.Array, name: str, lists: bool = False, is_utf8: Callable[[pa.Array], bool] = is_valid
) -> Text:
    """A view of a column of strings (with ``lists``, also of lists of strings); only the offsets are copied.

    Nulls inside a list are dropped.  ``is_utf8`` checks an array of strings; ``text.utf8`` has a faster check.  Raises
    ``ColumnError`` for another type and ``InputError``, naming the row, for bytes that are not UTF-8.
    """
    kind = array.type
    if lists and (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        sizes = numpy_values(pc.list_value_length(array), null=0).astype(np.int64)
        flat = text_of_arrow(array.flatten(), name, is_utf8=is_utf8)
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        present = np.concatenate([[0], np.cumsum(flat.valid)])
        groups = present[bounds]
        return replace(flat.take(np.flatnonzero(flat.valid)), valid=_validity(array), groups=groups)
    if pa.types.is_dictionary(kind):
        if lists and hasattr(kind.value_type, "value_type"):
            return text_of_arrow(decoded(array), name, lists, is_utf8)
        words = text_of_arrow(array.dictionary, name, is_utf8=is_utf8)
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
    if not is_utf8(array):
        _check_encoding(array, name)
    return _text_of_strings_array(array)


def _text_of_strings_array(array: pa.Array) -> Text:
    _, offsets, data = array.buffers()
    wide = np.int64 if pa.types.is_large_string(array.type) else np.int32
    if offsets is None or data is None or len(array) == 0:
        nothing = np.zeros(len(array), np.int64)
        return Text(_EMPTY, nothing, nothing, _validity(array))
    bounds = np.frombuffer(offsets, wide, len(array) + 1, array.offset * np.dtype(wide).itemsize).astype(np.int64)
    return _without_hidden_bytes(Text(np.frombuffer(data, np.uint8), bounds[:-1], bounds[1:], _validity(array)))


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
            raise InputError(f"column {name!r}, row {row}: expected UTF-8 text: {reason}") from reason


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

    To append n times takes time in proportion to the values appended, and not to all values n times.
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

    def append(self, more: npt.NDArray[Any]) -> None:
        """Add values, as the type of those that there are."""
        size = self._size + len(more)
        if size > len(self._room):
            room = np.empty(max(size, 2 * len(self._room)), self._room.dtype)
            room[: self._size] = self.values
            self._room = room
        self._room[self._size : size] = more
        self._size = size
