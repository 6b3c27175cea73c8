"""Ids in sorted order: the duplicates among them, and the ids that several runs share.

Sorting needs one number per row, where a hash table of five million texts needs more than a gigabyte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Ints

_BLOCK = 1 << 17
"""Number of neighbouring ids to compare at once."""


@dataclass(frozen=True)
class SortedIds:
    """Ids in the order of their rows, and ``order``, which sorts them; equal ids are in the order of their rows."""

    ids: pa.ChunkedArray
    order: Ints

    @classmethod
    def of(cls, *columns: pa.Array) -> SortedIds:
        """The ids of one column of texts after another."""
        ids = pa.chunked_array(columns, pa.large_string())
        return cls(ids, pc.sort_indices(ids).to_numpy().astype(np.int64, copy=False))

    def __len__(self) -> int:
        return len(self.order)

    def text_of(self, row: int) -> str:
        """The id of a row."""
        return str(self.ids[row].as_py())

    @property
    def text(self) -> pa.Array:
        """The ids in one array, in the order of their rows."""
        return _one_array(self.ids)

    @cached_property
    def is_first(self) -> Flags:
        """For each place in the order, whether its id differs from the id before."""
        first = np.ones(len(self.order), np.bool_)
        for start in range(1, len(first), _BLOCK):
            stop = min(start + _BLOCK, len(first))
            texts = _one_array(self.ids.take(pa.array(self.order[start - 1 : stop])))
            first[start:stop] = pc.not_equal(texts[1:], texts[:-1]).to_numpy(zero_copy_only=False)
        return first

    @property
    def are_distinct(self) -> bool:
        """Whether no id occurs twice."""
        return bool(self.is_first.all())

    @property
    def numbers(self) -> Ints:
        """The number of each row's id: its place among the distinct ids in sorted order."""
        numbers = np.empty(len(self.order), np.int64)
        numbers[self.order] = np.cumsum(self.is_first) - 1
        return numbers

    def duplicates(self) -> Iterator[tuple[str, int]]:
        """Each id of several rows and its number of rows, in the order of their first rows."""
        places = np.flatnonzero(self.is_first)
        counts = np.diff(places, append=len(self.order))
        several = np.flatnonzero(counts > 1)
        rows = self.order[places[several]]
        for at in np.argsort(rows):
            yield self.text_of(int(rows[at])), int(counts[several[at]])

    def distinct_text(self, place: int) -> str:
        """The id at a place among the distinct ids, sorted."""
        return self.text_of(int(self.order[np.flatnonzero(self.is_first)[place]]))

    def distinct(self) -> pa.Array:
        """The distinct ids, sorted."""
        return _one_array(self.ids.take(pa.array(self.order[self.is_first])))


def rows_of_ids(columns: Sequence[SortedIds]) -> tuple[SortedIds, list[Ints]]:
    """All ids of several columns without duplicates, and per column the row of each distinct id, or -1."""
    if all(column is columns[0] for column in columns):
        return columns[0], [columns[0].order] * len(columns)
    every = SortedIds.of(*(chunk for column in columns for chunk in column.ids.chunks))
    numbers = every.numbers
    rows, start = [], 0
    for column in columns:
        own = numbers[start : start + len(column.order)]
        rows.append(np.full(int(every.is_first.sum()), -1, np.int64))
        rows[-1][own] = np.arange(len(own))
        start += len(own)
    return every, rows


def _one_array(texts: pa.ChunkedArray) -> pa.Array:
    return texts.combine_chunks() if texts.num_chunks != 1 else texts.chunk(0)
