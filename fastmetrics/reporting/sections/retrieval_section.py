"""The retrieval page: metrics at several cut-offs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastmetrics.base.display import Grid, number
from fastmetrics.reporting.charts import Charts, LineChart
from fastmetrics.reporting.sections.section import WORDS, Section
from fastmetrics.results.summary import Summary

_NAME = re.compile(r"([^@]+)@(\d+)(\D.*)?")


@dataclass(frozen=True)
class CutOffs:
    """A metric at several cut-offs: its chart, and the means of each system."""

    name: str
    chart: int
    grid: Grid


def cut_offs(summaries: Mapping[str, Summary], charts: Charts) -> list[CutOffs]:
    """The metrics that these systems have at several cut-offs."""
    cut: dict[str, set[int]] = {}
    for summary in summaries.values():
        for name in summary.metrics:
            if match := _NAME.fullmatch(name):
                cut.setdefault(f"{match[1]}@k{match[3] or ''}", set()).add(int(match[2]))
    return [_cut_offs(name, sorted(ks), summaries, charts) for name, ks in cut.items() if len(ks) > 1]


def _cut_offs(family: str, ks: Sequence[int], summaries: Mapping[str, Summary], charts: Charts) -> CutOffs:
    lines = {}
    for system, summary in summaries.items():
        summaries_of_cuts = [summary.metrics.get(family.replace("@k", f"@{k}", 1)) for k in ks]
        lines[system] = [None if figures is None else figures.mean for figures in summaries_of_cuts]
    rows = [(system, *("–" if mean is None else number(mean) for mean in means)) for system, means in lines.items()]
    grid = Grid(("run", *(f"@{k}" for k in ks)), rows)
    return CutOffs(family, charts.add(LineChart(family, "k", ks, lines)), grid)


SECTION = Section(
    "retrieval",
    labels=WORDS["sections"]["retrieval"],
    content=lambda section_input: cut_offs(section_input.summaries, section_input.charts),
    template="{% include 'retrieval_section.html' %}",
)
