"""The interface of a section that only some reports have: its name, labels, content and template."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastmetrics.reporting.charts import Charts
from fastmetrics.reporting.report_options import ReportOptions
from fastmetrics.reporting.rows import PairedRows
from fastmetrics.results.score_table import ScoreTable
from fastmetrics.results.summary import Summary
from fastmetrics.results.worst_rows import TextSource

WORDS: Mapping[str, Any] = tomllib.loads((Path(__file__).parents[1] / "labels.toml").read_text(encoding="utf-8"))
"""The words of the page, the Russian headings of tables, and the words of sections by their names."""


@dataclass(frozen=True)
class SectionInput:
    """What a section is made from: the summaries of all systems, the rows, the options and the charts of the page."""

    summaries: Mapping[str, Summary]
    systems: Sequence[ScoreTable]
    baseline: Summary | None
    names: Sequence[str]
    """The metrics of the first run."""
    rows: PairedRows
    options: ReportOptions
    charts: Charts
    sources: Mapping[str, TextSource] = field(default_factory=dict)
    """The files of texts of the systems that have one, by name."""
    earlier: Mapping[str, Any] = field(default_factory=dict)
    """The contents of the sections before it, by name."""


@dataclass(frozen=True)
class Section:
    """A section of the page, listed in :data:`fastmetrics.reporting.report_content.SECTIONS`."""

    name: str
    """The id of the section and the variable of its content in the template."""
    labels: Mapping[str, Sequence[str]]
    """Words in English and Russian, ``L.key`` in the template; the label of the name is the title."""
    content: Callable[[SectionInput], Any]
    """Makes the content; a report without any has no such section."""
    template: str
    """Jinja; ``parts.grid``, ``parts.notes`` and ``draw.lines`` show tables, notes and charts."""
    data: Callable[[Any, Sequence[str]], Mapping[str, Any]] | None = None
    """The data of the page's script, from the content and the names of the metrics."""


_FIGURE = re.compile(r"(?<![\w.@-])\d[\d,]*(?:\.\d+)?(?!\w)")
"""A figure in a note, and no part of a name such as ``ndcg@10`` or of an option."""


def merged_notes(of_systems: Mapping[str, Sequence[str]]) -> list[str]:
    """The notes on several systems: those that differ in figures alone are one, with the least and the greatest.

    >>> merged_notes({"old": ["2 of 90 rows are empty"], "new": ["7 of 90 rows are empty", "no costs"]})
    ['old, new: 2–7 of 90 rows are empty', 'new: no costs']
    >>> merged_notes({"old": ["no costs"], "new": ["no costs"]})
    ['no costs']
    """
    alike: dict[str, dict[str, list[str]]] = {}
    for name, notes in of_systems.items():
        for note in dict.fromkeys(notes):
            alike.setdefault(_FIGURE.sub("#", note), {}).setdefault(note, []).append(name)
    return [_merged(some, len(of_systems)) for some in alike.values()]


def _merged(alike: Mapping[str, Sequence[str]], n_systems: int) -> str:
    """Notes that differ in figures alone, each with its systems, as one."""
    names = dict.fromkeys(name for having in alike.values() for name in having)
    figures = map(_span, zip(*(_FIGURE.findall(note) for note in alike), strict=True))
    note = _FIGURE.sub(lambda _: next(figures), next(iter(alike)))
    return note if len(alike) == 1 and len(names) == n_systems else f"{', '.join(names)}: {note}"


def _span(figures: Sequence[str]) -> str:
    """The figure, or the least and the greatest of several."""
    ends = sorted(set(figures), key=lambda figure: float(figure.replace(",", "")))
    return ends[0] if len(ends) == 1 else f"{ends[0]}–{ends[-1]}"
