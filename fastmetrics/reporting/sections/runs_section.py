"""The section of runs: the first metrics over the runs of a folder."""

from __future__ import annotations

from typing import Any

from fastmetrics.core.visible_text import visible
from fastmetrics.reporting.charts.line_chart import LineChart
from fastmetrics.reporting.sections.section import Section, SectionInput
from fastmetrics.results.runs.list_runs import list_runs
from fastmetrics.results.summary.primary_table import PRIMARY
from fastmetrics.results.summary.trend import trend

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
    recorded = {name for run in list_runs(str(options.runs)).to_pylist() for name in run["metrics"]}
    first = sorted([name for name in names if name in recorded] or names, key=lambda name: name not in shown)[:_TRENDS]
    trends = [trend(str(options.runs), name, seed=options.seed, threads=options.threads) for name in first]
    selected = []
    for points in trends:
        lines = {key: [getattr(point, key) for point in points] for key in ("mean", "low", "high")}
        if base is not None and points.metric in base.metrics:
            lines["baseline"] = [base.metrics[points.metric].mean] * len(points)
        chart = section_input.charts.add(
            LineChart(points.metric, "run", list(range(1, len(points) + 1)), lines, words=True)
        )
        notes = list(map(visible, points.remarks()))
        selected.append({"metric": visible(points.metric), "grid": points.grids()[0], "notes": notes, "chart": chart})
    return selected


SECTION = Section(
    "runs",
    labels={
        "runs": ("Runs", "Запуски"),
        "runs_note": (
            "Means with their intervals over the runs of a folder, first to last.",
            "Средние с интервалами по запускам из папки, от первого к последнему.",
        ),
    },
    content=_trends,
    template="""\
<p class="note">{{ L.runs_note }}</p>
{% for one in runs %}
<h2><bdi>{{ one.metric }}</bdi></h2>
{{ draw.lines(one.chart) }}
{{ parts.grid(one.grid, L.runs ~ ": " ~ one.metric) }}
{{ parts.notes(one.notes) }}
{% endfor %}
""",
)
