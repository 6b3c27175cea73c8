"""The section of runs: the first metrics over the runs of a folder."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from fastmetrics.base.display import Grid
from fastmetrics.reporting.charts import LineChart
from fastmetrics.reporting.sections.section import WORDS, Section, SectionInput
from fastmetrics.results.primary import PRIMARY
from fastmetrics.results.run_folders import list_runs
from fastmetrics.results.trend import Trend, TrendPoint, trend

_TRENDS = 8
"""Maximum number of metrics with trends over runs."""


def _trends(section_input: SectionInput) -> list[dict[str, Any]]:
    """The trends of the first metrics over the runs of a folder, metrics of the primary table first.

    The chart of a metric has a line of its means, the bounds of their intervals, and the baseline's mean.
    """
    options, names, base = section_input.options, section_input.names, section_input.baseline
    if options.runs is None:
        return []
    shown = [figure.partition(".")[0] for figures in PRIMARY.values() for figure in figures]
    how: dict[str, Any] = {"skip_unreadable": options.skip_unreadable}
    recorded = {name for run in list_runs(str(options.runs), **how).to_pylist() for name in run["metrics"] or ()}
    first = sorted([name for name in names if name in recorded] or names, key=lambda name: name not in shown)[:_TRENDS]
    trends = [trend(str(options.runs), name, **how) for name in first]
    selected = []
    for points in trends:
        lines = {key: [getattr(point, key) for point in points] for key in ("mean", "low", "high")}
        if base is not None and points.metric in base.metrics:
            lines["baseline"] = [base.metrics[points.metric].mean] * len(points)
        places, days = _places(points), list(map(_axis_label, points))
        chart = section_input.charts.add(LineChart(points.metric, "run", places, lines, words=True, x_labels=days))
        selected.append({"metric": points.metric, "runs": _runs(points), "notes": points.remarks(), "chart": chart})
    return selected


def _places(points: Trend) -> list[float]:
    """The times at which the runs began, in days, or their numbers where one is not stored."""
    try:
        moments = [datetime.fromisoformat(point.began or "").timestamp() / 86_400 for point in points]
    except ValueError:
        return [float(at) for at in range(1, len(points) + 1)]
    return [moment - moments[0] for moment in moments]


def _axis_label(point: TrendPoint) -> str:
    """The day on which a run began, or its name where that is not stored."""
    return (point.began or point.name or point.file)[:10]


def _runs(points: Trend) -> Grid:
    """The table of the runs, without the intervals that it draws in characters: the chart has them."""
    [grid] = points.grids()
    return replace(grid, header=grid.header[:-1], rows=[row[:-1] for row in grid.rows])


SECTION = Section(
    "runs",
    labels=WORDS["sections"]["runs"],
    content=_trends,
    template="{% include 'runs_section.html' %}",
)
