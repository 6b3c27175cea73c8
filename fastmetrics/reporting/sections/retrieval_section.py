"""The retrieval page: metrics at several cut-offs, and the share of relevant documents at each rank."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import is_list
from fastmetrics.base.display import Grid, number
from fastmetrics.reporting.charts import Charts, LineChart
from fastmetrics.reporting.sections.section import WORDS, Section
from fastmetrics.results.summary import Summary
from fastmetrics.retrieval.rankings import Rankings, graded, grades_of, rankings

PLACES = 50
"""Number of ranks in the charts."""
_LISTS = ("retrieved_ids", "relevant_ids")
_NAME = re.compile(r"([^@]+)@(\d+)(\D.*)?")


@dataclass(frozen=True)
class CutOffs:
    """A metric at several cut-offs: its chart, and the means of each system."""

    name: str
    chart: int
    grid: Grid


@dataclass(frozen=True)
class ByPlace:
    """Relevance at each rank: a chart, and its figures."""

    chart: int
    lines: Sequence[tuple[str, ...]]
    n: int
    """Rows with a ranking and a relevant document."""
    left_out: int
    last: int


@dataclass(frozen=True)
class RetrievalPage:
    """The contents of the page; empty without cut-offs and rankings."""

    families: Sequence[CutOffs]
    places: ByPlace | None


class PlaceCounts:
    """Counts summed over pieces of rows, per rank: documents, relevant documents, first relevant documents."""

    def __init__(self) -> None:
        self.ranked = np.zeros(PLACES, np.int64)
        self.relevant = np.zeros(PLACES, np.int64)
        self.first = np.zeros(PLACES, np.int64)
        self.rows = 0
        self.left_out = 0
        self.seen = False

    def add(self, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> None:
        """Count the rows of a piece, if it has rankings and judgements.

        A document is relevant if its grade is at least 1; a repeated document counts at its first rank.  A row
        without a ranking or without a relevant document is skipped.
        """
        lists = [columns[name] for name in _LISTS if name in columns]
        if len(lists) < len(_LISTS) or not all(is_list(column.type) for column in lists):
            return
        self.seen = True
        retrieved, relevant = _alike(
            [rankings(column, name) for column, name in zip(lists, _LISTS, strict=True)], lists
        )
        relevance = columns.get("relevance")
        grades = None if relevance is None or not is_list(relevance.type) else grades_of(relevance, lists[1])
        judged = graded(retrieved, relevant, grades)
        good = np.bincount(
            np.repeat(np.arange(len(relevant)), np.diff(judged.ideal_starts)),
            judged.ideal >= 1,
            minlength=len(relevant),
        )
        counted = retrieved.valid & relevant.valid & (good > 0)
        self.rows += int(counted.sum())
        self.left_out += int((~counted).sum())
        rows = np.repeat(np.arange(len(retrieved)), retrieved.sizes)
        places = np.arange(len(rows)) - judged.starts[rows]
        near = counted[rows] & (places < PLACES)
        hits = near & (judged.grades >= 1)
        self.ranked += np.bincount(places[near], minlength=PLACES)
        self.relevant += np.bincount(places[hits], minlength=PLACES)
        self.first += np.bincount(places[hits][np.unique(rows[hits], return_index=True)[1]], minlength=PLACES)

    def page(self, charts: Charts) -> ByPlace | None:
        """The figures of all pieces; None if no row was counted."""
        last = int(np.flatnonzero(self.ranked)[-1]) + 1 if self.ranked.any() else 0
        if not self.rows or not last:
            return None
        shares = self.relevant[:last] / np.maximum(self.ranked[:last], 1)
        found_share = np.cumsum(self.first[:last]) / self.rows
        lines = {"relevant_share": shares.tolist(), "found_by": found_share.tolist()}
        chart = LineChart("by_place", "place", list(range(1, last + 1)), lines, words=True)
        figures = zip(self.ranked[:last].tolist(), shares.tolist(), found_share.tolist(), strict=True)
        table_rows = [(str(place), *map(number, numbers)) for place, numbers in enumerate(figures, 1)]
        return ByPlace(charts.add(chart), table_rows, self.rows, self.left_out, last)


def _alike(pair: Sequence[Rankings], lists: Sequence[pa.Array | pa.ChunkedArray]) -> Sequence[Rankings]:
    """The rankings with ids of one type: text if some are numbers and others text."""
    if {side.kind for side in pair} != {"text", "integer"}:
        return pair
    texts = [pc.cast(column, pa.large_list(pa.large_string())) for column in lists]
    return [rankings(column, name) for column, name in zip(texts, _LISTS, strict=True)]


def retrieval_page(summaries: Mapping[str, Summary], counts: PlaceCounts, charts: Charts) -> RetrievalPage | None:
    """The page of these systems, or None without data about their rankings."""
    cut: dict[str, set[int]] = {}
    for summary in summaries.values():
        for name in summary.metrics:
            if match := _NAME.fullmatch(name):
                cut.setdefault(f"{match[1]}@k{match[3] or ''}", set()).add(int(match[2]))
    families = [_cut_offs(name, sorted(ks), summaries, charts) for name, ks in cut.items() if len(ks) > 1]
    places = counts.page(charts)
    return RetrievalPage(families, places) if families or places else None


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
    content=lambda section_input: retrieval_page(section_input.summaries, section_input.counter, section_input.charts),
    template="{% include 'retrieval_section.html' %}",
    counter=PlaceCounts,
)
