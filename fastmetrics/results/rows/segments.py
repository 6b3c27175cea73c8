"""Segments of rows by the values of columns, numbers in quartiles; their order in tables, the worst first."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Ints
from fastmetrics.core.conversion.column_to_arrow import as_numbers
from fastmetrics.core.conversion.records import Records
from fastmetrics.core.display.printed_tables import number
from fastmetrics.declaration.spec import Better
from fastmetrics.errors import ColumnError

_DISTINCT = 12
"""Numeric columns with more distinct values are divided into quartiles."""
_QUARTERS = 4


@dataclass(frozen=True)
class Segment:
    """A group of rows: its description, and its rows in ascending order."""

    name: str | None
    rows: Ints


@dataclass(frozen=True)
class Segments(Sequence[Segment]):
    """Segments that are made when they are read: a million of them take a few numbers each."""

    order: Ints
    """The rows, segment by segment."""
    edges: Ints
    """The places in ``order`` where a segment begins, and the end."""
    codes: Ints
    """The values of each segment: the places of their names in ``labels``, as digits of one number."""
    labels: Sequence[Sequence[str]]
    """For each column, the names of its values."""

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, place: int) -> Segment: ...
    @overload
    def __getitem__(self, place: slice) -> list[Segment]: ...
    def __getitem__(self, place: int | slice) -> Segment | list[Segment]:
        if isinstance(place, slice):
            return [self[at] for at in range(len(self))[place]]
        at = range(len(self))[place]
        return Segment(self._name(int(self.codes[at])), self.order[self.edges[at] : self.edges[at + 1]])

    def of_rows(self, rows: Ints) -> Segments:
        """The segments with ``rows[r]`` for each row r."""
        return replace(self, order=rows[self.order])

    def _name(self, code: int) -> str:
        parts = []
        for names in reversed(self.labels):
            code, place = divmod(code, len(names))
            parts.append(names[place])
        return ", ".join(reversed(parts))


def segments_of(columns: Sequence[tuple[str, pa.Array]]) -> Segments:
    """The groups of rows with equal values in all columns, named ``language=en, length=[10, 20)``, sorted by name.

    Null is a separate value.  Raises ``ColumnError`` for a column of lists or other unordered values.
    """
    codes, labels = np.zeros(len(columns[0][1]), np.int64), []
    for name, column in columns:
        numbers, names = _cut(name, column)
        codes = codes * len(names) + numbers
        labels.append(names)
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    return Segments(order, np.append(starts, len(order)), codes[starts], labels)


def _cut(name: str, column: pa.Array) -> tuple[Ints, Sequence[str]]:
    """The group number of each row, and the groups' names."""
    kind = column.type
    if pa.types.is_nested(kind):
        raise ColumnError(f"column {name!r} holds {kind}; segments need text, numbers, dates or booleans")
    numeric = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    if numeric and pc.count_distinct(column).as_py() > _DISTINCT:
        return _quarters(name, column)
    distinct = pc.unique(column)
    distinct = distinct.take(pc.sort_indices(distinct))
    numbers = pc.index_in(column, value_set=distinct).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers, _Labels(name, distinct)


@dataclass(frozen=True)
class _Labels(Sequence[str]):
    """The names of the values of a column; the text "null" is in quotes beside null."""

    name: str
    values: pa.Array

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[at] for at in range(len(self))[place]]
        value = self.values[place].as_py()
        if value == "null" and self.values.null_count:
            return f'{self.name}="null"'
        return f"{self.name}={'null' if value is None else value}"


def _quarters(name: str, column: pa.Array) -> tuple[Ints, list[str]]:
    """Numbers divided at their quartiles into half-open ranges; the last range is closed."""
    values = as_numbers(column, name)
    has_value = ~np.isnan(values)
    edges = np.unique(np.quantile(values[has_value], np.linspace(0, 1, _QUARTERS + 1)))
    inner = edges[1:-1]
    numbers = np.searchsorted(inner, values, side="right").astype(np.int64)
    labels = [
        f"{name}=[{number(float(low))}, {number(float(high))}{']' if at == len(edges) - 2 else ')'}"
        for at, (low, high) in enumerate(itertools.pairwise(edges))
    ]
    if not has_value.all():
        numbers[~has_value] = len(labels)
        labels.append(f"{name}=null")
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


def worst_first(segments: Records[Any], figure: str, better: Better) -> Ints:
    """The places of the segments by a figure, the worst first, equal ones by name; those without the figure last."""
    values = segments.numbers(figure)
    has_value = ~np.isnan(values)
    names = pc.rank(segments.column("segment"), tiebreaker="dense").to_numpy().astype(np.int64)
    signed = -values if better == "lower" else values
    return np.lexsort((np.where(has_value, names, 0), np.where(has_value, signed, 0.0), ~has_value))
