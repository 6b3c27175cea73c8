"""The tables that a notebook shows of results with single figures, and of the first rows of long ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import islice
from typing import Any

from fastmetrics.core.display.printed_tables import Grid, NotebookTables, number

FIRST = 20
"""Maximum number of rows that a notebook shows of a long result."""


class FigureTable(NotebookTables):
    """A dataclass of figures: a notebook shows one table of them, with the intervals of those that have one.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Speed(FigureTable):
    ...     rows: int
    ...     seconds: float
    ...     percentiles: Mapping[str, float]
    >>> print(*Speed(1000, 0.25, {"p50": 0.2}).grids())
    figure            value
    rows              1,000
    seconds          0.2500
    percentiles.p50  0.2000
    """

    def grids(self) -> Sequence[Grid]:
        """The figures by name; further fields of a subclass are tables of their own."""
        own: Any = self
        rows = [
            row for field in fields(own) for row in _rows(field.name, getattr(self, field.name), self.figure_intervals)
        ]
        if any(interval for *_, interval in rows):
            return [Grid(("figure", "value", "interval"), rows)]
        return [Grid(("figure", "value"), [row[:2] for row in rows])]

    @property
    def figure_intervals(self) -> Mapping[str, Any]:
        """The intervals of fields that are plain numbers, by name."""
        return {}

    def remarks(self) -> Sequence[str]:
        """No notes."""
        return []


def _rows(name: str, value: Any, intervals: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The lines of a field; none of a field that holds neither figures nor texts."""
    if isinstance(value, str):
        yield name, value, ""
    elif isinstance(value, int | float):
        yield name, number(value), _interval(intervals.get(name))
    elif hasattr(value, "value") and hasattr(value, "low"):
        yield name, number(value.value), _interval(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(item, int | float):
                yield f"{name}.{key}", number(item), ""


def _interval(interval: Any) -> str:
    if interval is None or math.isnan(interval.low):
        return ""
    return f"[{number(interval.low)}, {number(interval.high)}]"


def first_rows(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Grid:
    """The table of the first rows."""
    return Grid(header, list(islice(rows, FIRST)))


def rows_note(n: int) -> list[str]:
    """The note on a table that shows the first of ``n`` rows.

    >>> rows_note(20), rows_note(1_000)
    ([], ['the first 20 of 1,000 rows'])
    """
    return [f"the first {FIRST} of {n:,} rows"] if n > FIRST else []
