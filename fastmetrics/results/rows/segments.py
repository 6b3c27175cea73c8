"""Segments of rows by the values of columns, numbers in quartiles; their order in tables, the worst first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Ints
from fastmetrics.base.columns import as_numbers
from fastmetrics.base.display import number
from fastmetrics.base.errors import ColumnError
from fastmetrics.base.specs import Better

_DISTINCT = 12
"""Numeric columns with more distinct values are divided into quartiles."""
_QUARTERS = 4


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
    for numbers, names in cuts:
        codes = codes * len(names) + numbers
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    if not len(starts):
        return []
    firsts = order[starts]
    parts = ([names[number] for number in numbers[firsts].tolist()] for numbers, names in cuts)
    together = map(", ".join, zip(*parts, strict=True))
    return [Segment(name, rows) for name, rows in zip(together, np.split(order, starts[1:]), strict=True)]


def _cut(name: str, column: pa.Array) -> tuple[Ints, list[str]]:
    """The group number of each row, and the groups' names; the text "null" is in quotes beside null."""
    kind = column.type
    if pa.types.is_nested(kind):
        raise ColumnError(f"column {name!r} holds {kind}; segments need text, numbers, dates or booleans")
    numeric = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    if numeric and pc.count_distinct(column).as_py() > _DISTINCT:
        return _quarters(name, column)
    distinct = pc.unique(column)
    distinct = distinct.take(pc.sort_indices(distinct))
    numbers = pc.index_in(column, value_set=distinct).to_numpy(zero_copy_only=False).astype(np.int64)
    spelled = {None: "null", "null": '"null"' if distinct.null_count else "null"}
    return numbers, [f"{name}={spelled.get(value, value)}" for value in distinct.to_pylist()]


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


def worst_first(segments: Iterable[Any], figure: str, better: Better) -> list[Any]:
    """The segments by a figure, the worst first, equal ones by name; those without the figure last."""

    def place(one: Any) -> tuple[bool, float, str]:
        value = getattr(one, figure)
        if math.isnan(value):
            return True, 0.0, ""
        return False, -value if better == "lower" else value, one.segment

    return sorted(segments, key=place)
