"""The section of runs: the first metrics over the runs of a folder."""

from __future__ import annotations

from typing import Any

from fastmetrics.reporting.charts.line_chart import LineChart
from fastmetrics.reporting.plain_text import visible
from fastmetrics.reporting.sections.section import Section, SectionInput
from fastmetrics.results.runs.list_runs import list_runs
from fastmetrics.results.summary.primary_table import PRIMARY
from fastmetrics.results.summary.trend import trend

_TRENDS = 8
"""Maximum number of metrics with trends over runs."""


def _trends(given: SectionInput) -> list[dict[str, Any]]:
    """The trends of the first metrics over the runs of a folder, metrics of the primary table first.

    The chart of a metric has a line of its means, the bounds of their intervals, and the baseline's mean.
    """
    asked, names, base = given.asked, given.names, given.baseline
    if asked.runs is None:
        return []
    shown = [figure.partition(".")[0] for figures in PRIMARY.values() for figure in figures]
    known = {name for run in list_runs(str(asked.runs)).to_pylist() for name in run["metrics"]}
    first = sorted([name for name in names if name in known] or names, key=lambda name: name not in shown)[:_TRENDS]
    found = [trend(str(asked.runs), name, seed=asked.seed, threads=asked.threads) for name in first]
    selected = []
    for one in found:
        lines = {key: [getattr(point, key) for point in one] for key in ("mean", "low", "high")}
        if base is not None and one.metric in base.metrics:
            lines["baseline"] = [base.metrics[one.metric].mean] * len(one)
        chart = given.charts.add(LineChart(one.metric, "run", list(range(1, len(one) + 1)), lines, words=True))
        notes = list(map(visible, one.remarks()))
        selected.append({"metric": visible(one.metric), "grid": one.grids()[0], "notes": notes, "chart": chart})
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
