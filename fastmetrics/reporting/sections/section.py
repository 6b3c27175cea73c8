"""The interface of a section that only some reports have: its name, labels, content and template."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from fastmetrics.base.display import BLOCKS
from fastmetrics.base.errors import visible
from fastmetrics.reporting.charts import Charts
from fastmetrics.reporting.report_options import ReportOptions
from fastmetrics.reporting.rows import PairedRows
from fastmetrics.results.score_run import ScoreRun
from fastmetrics.results.summary import Summary


class Counter(Protocol):
    """Counts that a section takes of all rows, which are read once, piece by piece."""

    def add(self, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> None: ...


@dataclass(frozen=True)
class SectionInput:
    """What a section is made from: the summaries of all systems, the rows, the options and the charts of the page."""

    summaries: Mapping[str, Summary]
    systems: Sequence[ScoreRun]
    baseline: Summary | None
    names: Sequence[str]
    """The metrics of the first run."""
    rows: PairedRows
    options: ReportOptions
    charts: Charts
    counter: Any = None
    """The section's own counter, after all rows."""
    earlier: Mapping[str, Any] = field(default_factory=dict)
    """The contents of the sections before it, by name."""


@dataclass(frozen=True)
class Section:
    """A section of the page, listed in :data:`fastmetrics.reporting.report_content.SECTIONS`."""

    name: str
    """The id of the section and the variable of its content in the template."""
    labels: Mapping[str, tuple[str, str]]
    """Words in English and Russian, ``L.key`` in the template; the label of the name is the title."""
    content: Callable[[SectionInput], Any]
    """Makes the content; a report without any has no such section."""
    template: str
    """Jinja; ``parts.grid``, ``parts.notes`` and ``draw.lines`` show tables, notes and charts."""
    counter: Callable[[], Counter] | None = None
    data: Callable[[Any, Sequence[str]], Mapping[str, Any]] | None = None
    """The data of the page's script, from the content and the names of the metrics."""


def shown_notes(notes: Sequence[str]) -> list[str]:
    """The notes as a page shows them, without those that draw in characters what the page draws as a chart.

    >>> shown_notes(["a", "questions by hour: ▁▂·█"])
    ['a']
    """
    return [visible(note) for note in notes if not note or set(note.rpartition(" ")[2]) - set(f"{BLOCKS}·")]
