"""What a row is, and which rows belong together: by id, repeat and round; by segment; by cluster."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints, Uint64s, is_number, is_text
from fastmetrics.base.columns import as_numbers
from fastmetrics.base.display import SegmentName, number
from fastmetrics.base.errors import ColumnError
from fastmetrics.base.notes import Note, said
from fastmetrics.base.specs import Better
from fastmetrics.stats.fingerprints import text_hashes

Piece: TypeAlias = "pa.Table | pa.RecordBatch"


def chunks_of(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    """The arrays of a column of a table or a batch."""
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


# Ids in sorted order: the duplicates among them, and the ids that several runs share.
#
# Sorting needs one number per row, where a hash table of five million texts needs more than a gigabyte.


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


def texts_of(column: pa.Array) -> pa.Array:
    """The values of a column as texts, ``null`` for null."""
    if is_text(column.type) or pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return column.cast(pa.large_string()).fill_null("null")
    return pa.array(["null" if value is None else str(value) for value in column.to_pylist()], pa.large_string())


# Answers of several rounds, each of which is a row: their tokens and prices add up.


def answers_of_rounds(questions: Ints, repeats: Ints | None) -> Ints | None:
    """The number of each row's answer where rows of one question, and of one repeat, are rounds; None if each has one.

    >>> answers_of_rounds(np.array([0, 0, 1]), None)
    array([0, 0, 1])
    >>> answers_of_rounds(np.array([0, 0, 1]), np.array([0, 1, 0])) is None
    True
    """
    keys = questions if repeats is None else questions * (int(repeats.max(initial=0)) + 1) + repeats
    distinct, answers = np.unique(keys, return_inverse=True)
    return None if len(distinct) == len(keys) else answers


def added_up(values: Floats, answers: Ints) -> Floats:
    """The sum of the values of each answer, by its number; NaN if one is missing, since the sum would be too small.

    >>> added_up(np.array([110.0, 220.0, 55.0]), np.array([0, 0, 1]))
    array([330.,  55.])
    """
    order = np.lexsort((values, answers))  # makes the sums independent of the order of the rows
    return np.bincount(answers[order], values[order]).astype(np.float64, copy=False)


@dataclass(frozen=True)
class Repeats:
    """The number of each row's question, where some have several rows, and of its answer, where rows are rounds."""

    questions: Ints
    answers: Ints | None = None
    are_numbered: bool = False
    """Whether a column numbers the repeats or the rounds."""

    @classmethod
    def of(cls, keys: Ints | Uint64s, repeats: Ints | None, has_rounds: bool) -> Repeats:
        """Rows with equal keys answer one question, a row with the key 0 its own; numbered by their first rows."""
        known = keys != 0
        _, firsts, numbers = np.unique(keys[known], return_index=True, return_inverse=True)
        questions = np.empty(len(keys), np.int64)
        questions[known] = np.argsort(np.argsort(firsts))[numbers]
        questions[~known] = len(firsts) + np.arange(int((~known).sum()))
        answers = answers_of_rounds(questions, repeats) if has_rounds else None
        return cls(questions, answers, repeats is not None or has_rounds)

    @cached_property
    def first_rows(self) -> Ints:
        """The first row of each question."""
        return np.unique(self.questions, return_index=True)[1]

    @property
    def of_answers(self) -> Ints:
        """The question of each answer."""
        return self.questions if self.answers is None else self.questions[np.unique(self.answers, return_index=True)[1]]

    def note(self, added: bool) -> str:
        """How many rows the questions have, and what that means for a mean; ``added`` if some columns add up."""
        return repeats_note(np.bincount(self.questions), added and self.answers is not None, self.are_numbered)


def repeats_note(counts: Ints, rounds: bool, numbered: bool) -> str:
    """How many rows the questions have, of which these are the counts, and what that means for a mean.

    >>> repeats_note(np.array([1, 2]), False, True)
    "1 to 2 answers to each of 2 questions; a question's score is their mean"
    """
    least, most = int(counts.min()), int(counts.max())
    many = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    rows = "rounds in the rows of" if rounds else "answers to"
    mean = "their mean" + (", of tokens and prices their sum" if rounds else "")
    doubled = "" if least == most or numbered else "; rows doubled by a broken resume look the same"
    return f"{many} {rows} each of {len(counts):,} questions; a question's score is {mean}{doubled}"


class RowKeys:
    """The columns of a table, added batch by batch, that tell which rows answer one question.

    They do with the same id, system and parameters, which ``found`` has by their roles; a row without an id is a
    question of its own.
    """

    def __init__(self, found: Mapping[str, Sequence[str]]) -> None:
        self._id, self._repeat = (next(iter(found[role]), None) for role in ("id", "repeat"))
        self._settings = found["setting"] if self._id is not None else []
        self._has_rounds = bool(found["round"])
        self._keys: dict[str, list[Uint64s]] = {}

    def add(self, piece: Piece) -> None:
        """Add the keys of some rows; an object under the name of a setting is none."""
        self._settings = [name for name in self._settings if not pa.types.is_nested(piece.column(name).type)]
        for name in (self._id, self._repeat, *self._settings):
            if name is not None and self._id is not None:
                column = piece.column(name)
                self._keys.setdefault(name, []).extend(map(text_hashes, chunks_of(column)))

    def repeats(self) -> Repeats | None:
        """Which rows answer one question; None if each row answers its own."""
        ids, repeats = self._of(self._id), self._of(self._repeat)
        for place, name in enumerate(self._settings, 1):  # odd factors part sums of equal hashes
            ids = np.where(ids == 0, 0, ids + self._of(name) * np.uint64(0x9E3779B97F4A7C15 + 2 * place))
        if not (np.diff(np.sort(ids[ids != 0])) == 0).any():
            return None
        numbers = np.unique(repeats, return_inverse=True)[1] if len(repeats) else None
        return Repeats.of(ids, numbers, self._has_rounds)

    def _of(self, name: str | None) -> Uint64s:
        return np.concatenate([*self._keys.get(name or "", []), np.zeros(0, np.uint64)])


# Segments of rows by the values of columns, numbers in quartiles; their order in tables, the worst first.


DISTINCT = 12
"""Numeric columns with more distinct values are divided into quartiles."""
_QUARTERS = 4


FEW_ROWS = 30
"""Segments with fewer rows are marked."""


def few_rows_note(segments: Collection[str]) -> list[str]:
    """What the mark of small segments means, if there are any.

    >>> few_rows_note({"language=en", "language=ru"}), few_rows_note([])
    (['* fewer than 30 rows: 2 segments'], [])
    """
    return said(segments and Note("few_rows", least=FEW_ROWS, n=len(segments)))


@dataclass(frozen=True)
class Segment:
    """A group of rows: its description, and its rows in ascending order."""

    name: str | None
    rows: Ints


def segments_of(columns: Sequence[tuple[str, pa.Array]]) -> list[Segment]:
    """The groups of rows with equal values in all columns, named ``language=en, length=[10, 20)``, sorted by value.

    Null is a separate value.  Raises ``ColumnError`` for a column of lists or other unordered values.
    """
    codes, cuts = np.zeros(len(columns[0][1]), np.int64), [_cut(name, column) for name, column in columns]
    for numbers, values in cuts:
        codes = codes * len(values) + numbers
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    if not len(starts):
        return []
    firsts = order[starts]
    parts = ([values[number] for number in numbers[firsts].tolist()] for numbers, values in cuts)
    names = [name for name, _ in columns]
    together = (SegmentName.of(dict(zip(names, values, strict=True))) for values in zip(*parts, strict=True))
    return [Segment(name, rows) for name, rows in zip(together, np.split(order, starts[1:]), strict=True)]


def _cut(name: str, column: pa.Array) -> tuple[Ints, list[str]]:
    """The group number of each row, and the groups' values; the text "null" is in quotes beside null."""
    kind = column.type
    if pa.types.is_nested(kind):
        raise ColumnError(f"column {name!r} holds {kind}; segments need text, numbers, dates or booleans")
    numeric = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    if numeric and pc.count_distinct(column).as_py() > DISTINCT:
        return _quarters(name, column)
    distinct = pc.unique(column)
    distinct = distinct.take(pc.sort_indices(distinct))
    numbers = pc.index_in(column, value_set=distinct).to_numpy(zero_copy_only=False).astype(np.int64)
    spelled = {None: "null", "null": '"null"' if distinct.null_count else "null"}
    return numbers, [str(spelled.get(value, value)) for value in distinct.to_pylist()]


def range_texts(name: str, columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Several columns, of which numbers of many values are the texts of the quarters that they lie in together."""
    numeric = [column for column in columns if not is_text(column.type) and not pa.types.is_null(column.type)]
    if len(numeric) < len(columns) or not is_number(numeric[0].type):
        return list(columns)
    every = pa.concat_arrays([column.cast(pa.float64()) for column in columns])
    if pc.count_distinct(every).as_py() <= DISTINCT:
        return list(columns)
    numbers, labels = _quarters(name, every)
    texts = pa.array(labels).take(pa.array(numbers))
    starts = np.cumsum([0, *map(len, columns)])
    return [texts.slice(start, len(column)) for start, column in zip(starts, columns, strict=False)]


def _quarters(name: str, column: pa.Array) -> tuple[Ints, list[str]]:
    """Numbers divided at their quartiles into half-open ranges; the last range is closed."""
    values = as_numbers(column, name)
    has_value = ~np.isnan(values)
    edges = np.unique(np.quantile(values[has_value], np.linspace(0, 1, _QUARTERS + 1)))
    inner = edges[1:-1]
    numbers = np.searchsorted(inner, values, side="right").astype(np.int64)
    labels = [
        f"[{number(float(low))}, {number(float(high))}{']' if at == len(edges) - 2 else ')'}"
        for at, (low, high) in enumerate(itertools.pairwise(edges))
    ]
    if not has_value.all():
        numbers[~has_value] = len(labels)
        labels.append("null")
    return numbers, labels


def cluster_numbers(name: str, column: pa.Array) -> Ints:
    """The group number of each row; a row without a group (null) is its own group.

    Raises ``ColumnError`` for a column of lists or other unordered values.
    """
    if pa.types.is_nested(column.type):
        raise ColumnError(f"column {name!r} holds {column.type}, which cannot define groups")
    if pa.types.is_null(column.type):
        return np.arange(len(column))
    numbers = np.array(pc.rank(column, tiebreaker="dense").to_numpy(), np.int64)
    alone = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    numbers[alone] = numbers.max(initial=0) + 1 + np.arange(int(alone.sum()))
    return numbers


def worst_first(segments: Iterable[Any], figure: str, better: Better) -> list[Any]:
    """The segments by a figure, the worst first, equal ones by name; those without the figure last."""

    def place(one: Any) -> tuple[bool, float, str]:
        value = attrgetter(figure)(one)
        if math.isnan(value):
            return True, 0.0, ""
        return False, -value if better == "lower" else value, one.segment

    return sorted(segments, key=place)
