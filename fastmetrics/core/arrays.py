"""Flat arrays for kernels (text, tokens, numbers), and the validation of user input.

A column of strings is UTF-8 bytes with a start and a stop offset for each string, so slices, dictionary columns, lists
of strings and repeated rows are views of the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrow_checks import check
from fastmetrics.core.memo import Memo
from fastmetrics.errors import ColumnError, InputError

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Ids: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
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

    def where(self, keep: Flags) -> Tokens:
        """The same texts without the tokens for whose id ``keep`` is False."""
        kept = keep[self.ids]
        before = np.concatenate([[0], np.cumsum(kept)])
        return replace(self, ids=self.ids[kept], starts=before[self.starts], stops=before[self.stops], memo=Memo())


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


def text_of_arrow(array: pa.Array, name: str, lists: bool = False) -> Text:
    """A view of a column of strings (with ``lists``, also of lists of strings); only the offsets are copied.

    Nulls inside a list are dropped.  Raises ``ColumnError`` for another type and ``InputError``, naming the row, for
    bytes that are not UTF-8.
    """
    kind = array.type
    if lists and (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        sizes = _numpy(pc.list_value_length(array).fill_null(0)).astype(np.int64)
        flat = text_of_arrow(array.flatten(), name)
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        present = np.concatenate([[0], np.cumsum(flat.valid)])
        groups = present[bounds]
        return replace(flat.take(np.flatnonzero(flat.valid)), valid=_validity(array), groups=groups)
    if pa.types.is_dictionary(kind):
        if lists and hasattr(kind.value_type, "value_type"):
            return text_of_arrow(decoded(array), name, lists)
        words = text_of_arrow(array.dictionary, name)
        rows = _numpy(array.indices.fill_null(0)).astype(np.int64)
        valid = _validity(array)
        if len(words) == 0:
            words = text_of_strings([""])
        elif not words.valid.all():
            valid &= words.valid[rows]
        return replace(words.take(rows), valid=valid)
    if pa.types.is_null(kind):
        nothing = np.zeros(len(array), np.int64)
        return Text(_EMPTY, nothing, nothing, np.zeros(len(array), np.bool_))
    if pa.types.is_string_view(kind):
        array = array.cast(pa.large_string())
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise ColumnError(f"column {name!r}: expected text{' or lists of it' if lists else ''}, got {kind}")
    return _text_of_strings_array(array, name)


def as_text(values: Any, name: str = "column") -> Text:
    """The text of a column of any kind, as one chunk; for small columns, not for the hot path."""
    return text_of_arrow(as_array(values, name), name)


def _text_of_strings_array(array: pa.Array, name: str) -> Text:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        _check_encoding(array, name, error)
    _, offsets, data = array.buffers()
    wide = np.int64 if pa.types.is_large_string(array.type) else np.int32
    if offsets is None or data is None or len(array) == 0:
        nothing = np.zeros(len(array), np.int64)
        return Text(_EMPTY, nothing, nothing, _validity(array))
    bounds = np.frombuffer(offsets, wide, len(array) + 1, array.offset * np.dtype(wide).itemsize).astype(np.int64)
    return Text(np.frombuffer(data, np.uint8), bounds[:-1], bounds[1:], _validity(array))


def _check_encoding(array: pa.Array, name: str, error: Exception) -> None:
    """Raise an ``InputError`` that names the first row that is not UTF-8, if there is one."""
    for row, value in enumerate(array.cast(pa.large_binary())):
        try:
            (value.as_py() or b"").decode()
        except UnicodeDecodeError as reason:
            raise InputError(f"column {name!r}, row {row}: expected UTF-8 text: {reason}") from error


def _validity(array: pa.Array) -> Flags:
    if array.null_count == 0:
        return np.ones(len(array), np.bool_)
    return _numpy(array.is_valid())


def _numpy(array: pa.Array) -> Any:
    return array.to_numpy(zero_copy_only=False)


def as_arrow(values: Any, name: str = "column") -> pa.Array | pa.ChunkedArray:
    """An Arrow array from user input: a list, NumPy, pandas, Polars or Arrow column.

    Raises ``ColumnError`` if the values cannot be one column.
    """
    if isinstance(values, pa.Array | pa.ChunkedArray):
        check(values, f"column {name!r}")
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
        if {type(value) for value in values if value is not None} == {str, list}:  # strings and lists of strings
            return as_arrow([[value] if isinstance(value, str) else value for value in values], name)
        raise ColumnError(_mixed(values, name, error)) from error


def as_array(values: Any, name: str = "column") -> pa.Array:
    """:func:`as_arrow` as one chunk; dictionary columns are decoded."""
    column = as_arrow(values, name)
    if not isinstance(column, pa.ChunkedArray):
        return decoded(column)
    chunks = [decoded(chunk) for chunk in column.chunks]
    return pa.concat_arrays(chunks) if chunks else decoded(pa.array([], column.type))


def decoded(array: pa.Array) -> pa.Array:
    """A dictionary column decoded to its values; other columns unchanged.

    A dictionary may contain a value twice, or null, and indices may be null too: only the values show which rows are
    equal and which are missing.
    """
    return array.dictionary.take(array.indices) if pa.types.is_dictionary(array.type) else array


def codes_of(values: Any, name: str = "column") -> Ints:
    """An integer code for each distinct value of a column, in order of first occurrence; -1 for null."""
    encoded = as_array(values, name).dictionary_encode()
    codes: Ints = _numpy(encoded.indices.fill_null(-1)).astype(np.int64)
    return codes


def _from_numpy(values: npt.NDArray[Any], name: str) -> Any:
    if values.ndim == 2:
        values = np.ascontiguousarray(values)
        return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
    if values.ndim != 1:
        raise ColumnError(f"column {name!r}: expected one dimension, got {values.ndim}")
    if values.dtype.kind == "T":
        return values.astype(object)
    return values


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
        type(one) for value in values if isinstance(value, list | tuple) for one in value if one is not None
    }


def _mixed(values: Any, name: str, error: Exception) -> str:
    kinds: dict[str, int] = {}
    for row, value in enumerate(values):
        if value is not None:
            kinds.setdefault(type(value).__name__, row)
    if len(kinds) > 1:
        (first, row0), (second, row1) = list(kinds.items())[:2]
        return f"column {name!r}: row {row0} is {first}, row {row1} is {second}; expected one type"
    return f"column {name!r}: {error}"


def floats_of_arrow(array: pa.Array, name: str) -> Floats:
    """A column of numbers as float64, NaN for null.  Raises ``ColumnError`` for a type that is not numeric."""
    array = decoded(array)
    kind = array.type
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        array = array.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise ColumnError(f"column {name!r}: expected numbers, got {kind}")
    numbers: Floats = _numpy(array.cast(pa.float64(), safe=False).fill_null(np.nan))
    return numbers
