"""Line charts of the report, and its segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.errors import visible
from fastmetrics.reporting.page_rows import shorts
from fastmetrics.results.score_table import ScoreTable

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
        lines = [{"name": visible(name), "y": shorts(values)} for name, values in self.lines.items()]
        titles = {"name": visible(self.name), "x_title": visible(self.x_title), "words": self.words}
        labels = {} if self.x_labels is None else {"x_labels": list(map(visible, self.x_labels))}
        return {**titles, **labels, "x": list(self.x), "lines": lines}


class Charts:
    """The charts of a page, by the numbers that its templates use."""

    def __init__(self) -> None:
        self.drawn: list[LineChart] = []

    def add(self, chart: LineChart) -> int:
        """Store a chart; return its number."""
        self.drawn.append(chart)
        return len(self.drawn) - 1
