"""Charts of the report: bars, lines and points; and its segments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.display import number
from fastmetrics.base.errors import visible
from fastmetrics.reporting.page_rows import short
from fastmetrics.results.score_table import ScoreTable

# Lists of names with a bar for the number of each, which templates draw without a script.


_MOST = 15
"""Maximum number of bars: the first ones."""
_LABEL = 80
"""Maximum characters of a name."""


@dataclass(frozen=True)
class BarList:
    """Names with their numbers: the key of its title, and for each the name, the number, and its bar in percent."""

    title: str
    bars: list[tuple[str, str, float]]
    n: int
    """How many names there are, of which the first are shown."""

    @classmethod
    def of(cls, title: str, values: Iterable[tuple[Any, float]], most: int = _MOST) -> BarList | None:
        """A bar for each of the first ``most`` values, on a scale from 0 to the largest; None without any.

        >>> BarList.of("ratings", [(1, 4), (5, 8)]).bars
        [('1', '4', 50.0), ('5', '8', 100.0)]
        """
        numbers = [(str(name), value) for name, value in values]
        shown = numbers[:most]
        largest = max((abs(value) for _, value in shown), default=0.0)
        if not largest:
            return None
        bars = [(_name(name), _whole(value), round(100 * abs(value) / largest, 2)) for name, value in shown]
        return cls(title, bars, len(numbers))


def _name(name: str) -> str:
    return name[:_LABEL] + ("…" if len(name) > _LABEL else "")


def _whole(value: float) -> str:
    return number(int(value) if float(value).is_integer() else value)


# The segments of a report.


SEGMENTS = 60
"""Maximum number of segments per column: those with the most rows; the others are merged."""


def fewer_segments(runs: Sequence[ScoreTable], by: Sequence[str]) -> tuple[list[ScoreTable], list[str]]:
    """The runs with the rarer values of the columns ``by`` merged if there are many, and notes about them."""
    notes: list[str] = []
    merged = list(runs)
    for name in by:
        having = [run for run in merged if name in run.columns]
        column = having[0].column(name, "") if having else pa.array([])
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        counts = pc.value_counts(column)
        if len(counts) <= SEGMENTS:
            continue
        most = counts.take(pc.sort_indices(counts.field("counts"), sort_keys=[("", "descending")])[:SEGMENTS])
        others = f"({len(counts) - SEGMENTS:,} others)"
        notes.append(f"{name}: shows {SEGMENTS} of {len(counts):,} segments, those of most rows; the others are one")
        merged = [_renamed(run, name, most.field("values"), others) if name in run.columns else run for run in merged]
    return merged, notes


def _renamed(run: ScoreTable, name: str, shown_values: pa.Array, others: str) -> ScoreTable:
    def read_renamed(names: Sequence[str]) -> pa.Table:
        table = run.read(names)
        if name not in table.column_names:
            return table
        column = table.column(name).combine_chunks()
        is_shown = pc.is_in(column, value_set=shown_values.cast(column.type))
        return table.set_column(
            table.column_names.index(name), name, pc.if_else(is_shown, column, pa.scalar(others, column.type))
        )

    return replace(run, read=read_renamed)


# Line charts, drawn by the page's script.


@dataclass(frozen=True)
class LineChart:
    """Lines over common positions; a missing value is None."""

    name: str
    """The text alternative of the chart, for screen readers."""
    x_title: str
    x: Sequence[float]
    lines: Mapping[str, Sequence[float | None]]
    words: bool = False
    """Whether the names are keys of translated labels."""
    x_labels: Sequence[str] | None = None
    """Texts in place of the numbers of the axis."""

    def data(self) -> dict[str, Any]:
        """The data for the script."""
        lines = [{"name": visible(name), "y": list(map(short, values))} for name, values in self.lines.items()]
        titles = {"name": visible(self.name), "x_title": visible(self.x_title), "words": self.words}
        labels = {} if self.x_labels is None else {"x_labels": list(map(visible, self.x_labels))}
        return {**titles, **labels, "x": list(self.x), "lines": lines}


class Chart(Protocol):
    """A chart that the page's script draws."""

    def data(self) -> dict[str, Any]: ...


class Charts:
    """The charts of a page, by the numbers that its templates use."""

    def __init__(self) -> None:
        self.drawn: list[Chart] = []

    def add(self, chart: Chart) -> int:
        """Store a chart; return its number."""
        self.drawn.append(chart)
        return len(self.drawn) - 1


# Charts of systems as points, drawn by the page's script: what they cost, and how good they are.


@dataclass(frozen=True)
class ScatterChart:
    """Points with names: ``x``, and for each metric ``y``, of which the page shows one at a time."""

    name: str
    """The text alternative of the chart, for screen readers."""
    x_title: str
    x: Mapping[str, float]
    y: Mapping[str, Sequence[float]]
    """For each metric the values of the points, in the order of ``x``."""
    lower: Sequence[str]
    """The metrics of which less is better."""
    bounds: Mapping[str, tuple[float, float] | None]
    """The bounds of the metrics, or None."""

    def data(self) -> dict[str, Any]:
        """The data for the script; less of ``x`` is better."""
        metrics = [
            {
                "name": visible(name),
                "lower": name in self.lower,
                "bounds": None if (own := self.bounds.get(name)) is None or not all(map(math.isfinite, own)) else own,
                "y": list(map(short, values)),
            }
            for name, values in self.y.items()
        ]
        points = [{"name": visible(name), "x": short(value)} for name, value in self.x.items()]
        return {"name": visible(self.name), "x_title": visible(self.x_title), "points": points, "metrics": metrics}
