"""Segments of rows by the values of columns; numbers are divided into quartiles."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Ints
from fastmetrics.core.columns import as_numbers
from fastmetrics.core.display import number
from fastmetrics.errors import ColumnError

_DISTINCT = 12
"""Numeric columns with more distinct values are divided into quartiles."""
_QUARTERS = 4


@dataclass(frozen=True)
class Segment:
    """A group of rows: its description, and its rows in ascending order."""

    name: str | None
    rows: Ints


def segments_of(columns: Sequence[tuple[str, pa.Array]]) -> list[Segment]:
    """The groups of rows with equal values in all columns, named ``language=en, length=[10, 20)``, sorted by name.

    Null is a separate value.  Raises ``ColumnError`` for a column of lists or other unordered values.
    """
    parts = [_cut(name, column) for name, column in columns]
    codes = np.zeros(len(columns[0][1]), np.int64)
    for numbers, labels in parts:
        codes = codes * len(labels) + numbers
    distinct, places = np.unique(codes, return_inverse=True)
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=len(distinct)))
    groups = np.split(order, ends[:-1]) if len(order) else []
    return [
        Segment(_name(int(code), [labels for _, labels in parts]), rows)
        for code, rows in zip(distinct, groups, strict=True)
    ]


def _name(code: int, labels: Sequence[Sequence[str]]) -> str:
    found = []
    for some in reversed(labels):
        code, place = divmod(code, len(some))
        found.append(some[place])
    return ", ".join(reversed(found))


def _cut(name: str, column: pa.Array) -> tuple[Ints, list[str]]:
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
    return numbers, _labels(name, distinct.to_pylist())


def _labels(name: str, values: Sequence[Any]) -> list[str]:
    """The names of the groups; text that looks like another value, such as "null" for null, is in quotes."""
    labels = [f"{name}={'null' if value is None else value}" for value in values]
    counts = Counter(labels)
    return [
        f'{name}="{value}"' if isinstance(value, str) and counts[label] > 1 else label
        for value, label in zip(values, labels, strict=True)
    ]


def _quarters(name: str, column: pa.Array) -> tuple[Ints, list[str]]:
    """Numbers divided at their quartiles into half-open ranges; the last range is closed."""
    values = as_numbers(column, name)
    known = ~np.isnan(values)
    edges = np.unique(np.quantile(values[known], np.linspace(0, 1, _QUARTERS + 1)))
    inner = edges[1:-1]
    numbers = np.searchsorted(inner, values, side="right").astype(np.int64)
    labels = [
        f"{name}=[{number(float(low))}, {number(float(high))}{']' if at == len(edges) - 2 else ')'}"
        for at, (low, high) in enumerate(itertools.pairwise(edges))
    ]
    if not known.all():
        numbers[~known] = len(labels)
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
