"""Columns of lists of ids in flat form: row, position and id of each entry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Ints
from fastmetrics.base.arrow import decoded, is_list
from fastmetrics.base.errors import ColumnError
from fastmetrics.kernels.rankings import repeats
from fastmetrics.retrieval.rankings import fixed_ids, frozen, offsets


@dataclass(frozen=True)
class ListedIds:
    """The concatenated ids of all rows: id i is ``words[codes[i]]``, in row ``rows[i]``."""

    codes: Ints
    words: pa.Array
    """The distinct ids."""
    rows: Ints
    places: Ints
    """The position of each id in its row, from 0."""
    valid: Flags
    """Whether each row has a list, which may be empty."""

    def where(self, keep: Flags) -> ListedIds:
        """The ids for which ``keep`` is True."""
        if keep.all():
            return self
        return ListedIds(self.codes[keep], self.words, self.rows[keep], self.places[keep], self.valid)

    def once(self) -> ListedIds:
        """The ids without repetitions within a row."""
        starts = offsets(np.bincount(self.rows, minlength=len(self.valid)).astype(np.int64))
        return self.where(~repeats(fixed_ids(self.codes.view(np.uint64)), frozen(starts)))

    def counts(self) -> Ints:
        """The count of each of the ``words``."""
        return np.bincount(self.codes, minlength=len(self.words))


def listed_ids(column: pa.Array, name: str, first: int = 0) -> ListedIds:
    """The ids of a column of lists whose first row has the number ``first``; integers or text, with 64-bit types.

    In lists of fixed length (rows of a matrix), -1 is padding.  Raises ``ColumnError`` for anything but lists of
    strings or of integers, and for a null id.
    """
    kind = column.type
    if pa.types.is_null(kind):
        nothing = np.zeros(0, np.int64)
        return ListedIds(nothing, pa.array([], pa.large_string()), nothing, nothing, np.zeros(len(column), np.bool_))
    if not is_list(kind):
        raise ColumnError(f"column {name!r}: expected lists of strings or of whole numbers, got {kind}")
    sizes = np.asarray(pc.fill_null(pc.list_value_length(column), 0)).astype(np.int64)
    rows = np.repeat(np.arange(len(column)), sizes)
    places = np.arange(len(rows)) - np.repeat(offsets(sizes)[:-1], sizes)
    values = decoded(column.flatten())
    if values.null_count and not pa.types.is_null(values.type):
        row = int(rows[np.flatnonzero(np.asarray(values.is_null()))[0]])
        raise ColumnError(f"column {name!r}, row {first + row}: an id is null; give it, or make the whole list null")
    encoded = values.dictionary_encode()
    codes, words = np.asarray(encoded.indices).astype(np.int64), as_ids(encoded.dictionary, name)
    ids = ListedIds(codes, words, rows, places, np.asarray(column.is_valid()))
    if pa.types.is_fixed_size_list(kind) and pa.types.is_integer(words.type) and len(words):
        return ids.where(np.asarray(pc.not_equal(words, -1))[codes])
    return ids


def as_ids(values: pa.Array, name: str) -> pa.Array:
    """Ids as ``large_string`` or ``int64``; raises ``ColumnError`` for other types."""
    kind = values.type
    if pa.types.is_null(kind):
        return pa.array([], pa.large_string()) if not len(values) else values.cast(pa.large_string())
    try:
        if pa.types.is_integer(kind):
            return values.cast(pa.int64())
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            return values.cast(pa.large_string())
    except pa.ArrowInvalid as error:
        raise ColumnError(f"column {name!r}: expected whole ids below 2**63; give larger ones as strings") from error
    raise ColumnError(f"column {name!r}: expected ids that are strings or whole numbers, got {kind}")


def as_text(ids: pa.Array) -> pa.Array:
    """Ids as text, so that 7 equals "7"."""
    return ids.cast(pa.large_string())
