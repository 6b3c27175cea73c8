"""The overview of a report: the figures of every metric, and what to look at first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastmetrics.base.errors import visible
from fastmetrics.base.specs import Better
from fastmetrics.metrics.stored_declarations import Stored
from fastmetrics.reporting.charts.heat_map import HeatMap
from fastmetrics.reporting.readings import reading
from fastmetrics.results.score_file import declared_better
from fastmetrics.results.summary import Summary

LACKING = 0.05
"""The share of rows without a score from which on a report points at it."""
_POINTED = 8
"""Maximum number of metrics and segments that an overview without a comparison points at, of each kind."""


@dataclass(frozen=True)
class MetricLine:
    """A metric of the overview: its figures, reading, direction and histogram."""

    name: str
    figures: Any
    reading: str | None
    better: Better
    counts: Sequence[int] | None

    @property
    def lacks_rows(self) -> bool:
        """Whether calls failed, or a share of the rows that matters has no score."""
        lacking = self.figures.n_missing + self.figures.n_undefined
        return bool(self.figures.n_error or lacking > LACKING * (self.figures.n + lacking))


@dataclass(frozen=True)
class Pointer:
    """Something to look at: ``poor``, ``lacking`` or ``low_segment``, and its metric and segment."""

    kind: str
    metric: str
    segment: str | None
    text: str


def metric_lines(summary: Summary, drawn: Mapping[str, Any], stored: Stored) -> list[MetricLine]:
    """The lines of all metrics of rows."""
    better = declared_better(summary.metrics, stored)
    return [
        MetricLine(
            visible(name),
            figures,
            reading(name, figures.mean, stored, figures.max),
            better.get(name),
            list(drawn[name].counts) if name in drawn and drawn[name].n else None,
        )
        for name, figures in summary.metrics.items()
    ]


def named_figures(summary: Summary, stored: Stored) -> list[tuple[str, str, float, str | None]]:
    """The figures of the whole table: name, statistic, value and reading."""
    return [
        (visible(name), visible(of), value, reading((of or name).removesuffix(".mean"), value, stored))
        for name, value, of in summary.further
    ]


def pointers(lines: Sequence[MetricLine], heat: HeatMap | None) -> list[Pointer]:
    """What to look at where no comparison says what changed."""
    poor = [Pointer("poor", line.name, None, "") for line in lines if line.reading == "poor"]
    lacking = [
        Pointer("lacking", line.name, None, f"{line.figures.n:,}") for line in lines if line.lacks_rows and line.better
    ]
    low = [
        (cell.level, Pointer("low_segment", metric, segment, cell.text))
        for segment, cells in (heat.lines if heat is not None else ())
        for metric, cell in zip(heat.metrics if heat is not None else (), cells, strict=True)
        if cell is not None and cell.marked and cell.level is not None and cell.level < 0
    ]
    low.sort(key=lambda entry: entry[0])
    return [*poor[:_POINTED], *(pointer for _, pointer in low[:_POINTED]), *lacking[:_POINTED]]
