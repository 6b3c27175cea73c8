"""Heat map of segments and metrics; the colour of a cell shows how much better or worse it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.display import number
from fastmetrics.declaration.metric import Better
from fastmetrics.reporting.plain_text import visible
from fastmetrics.results.compare.comparison import Comparison
from fastmetrics.results.runs.score_run import ScoreRun
from fastmetrics.results.summary.summarize_by import IntervalSummary

SEGMENTS = 60
"""Maximum number of segments per column: those with the most rows; the others are merged."""
METRICS = 16
"""Maximum number of metrics in a heat map."""


@dataclass(frozen=True)
class HeatCell:
    """A figure of a segment: text, level from −3 (bad) to 3 (good) or None, and whether it is marked as notable."""

    text: str
    level: int | None
    n: int
    marked: bool = False


@dataclass(frozen=True)
class HeatMap:
    """Rows of segments, columns of metrics; a cell is None if the segment has no such figure."""

    metrics: Sequence[str]
    lines: Sequence[tuple[str, Sequence[HeatCell | None]]]
    n_metrics: int
    """Number of metrics, including those not shown."""


def fewer_segments(runs: Sequence[ScoreRun], by: Sequence[str]) -> tuple[list[ScoreRun], list[str]]:
    """The runs with the rarer values of the columns ``by`` merged if there are many, and notes about them."""
    notes: list[str] = []
    made = list(runs)
    for name in by:
        having = [run for run in made if name in run.columns]
        column = having[0].column(name, "") if having else pa.array([])
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        counts = pc.value_counts(column)
        if len(counts) <= SEGMENTS:
            continue
        most = counts.take(pc.sort_indices(counts.field("counts"), sort_keys=[("", "descending")])[:SEGMENTS])
        rest = f"({len(counts) - SEGMENTS:,} others)"
        notes.append(f"{name}: shows {SEGMENTS} of {len(counts):,} segments, those of most rows; the others are one")
        made = [_renamed(run, name, most.field("values"), rest) if name in run.columns else run for run in made]
    return made, notes


def _renamed(run: ScoreRun, name: str, kept: pa.Array, rest: str) -> ScoreRun:
    def read(names: Sequence[str]) -> pa.Table:
        table = run.read(names)
        if name not in table.column_names:
            return table
        column = table.column(name).combine_chunks()
        known = pc.is_in(column, value_set=kept.cast(column.type))
        return table.set_column(
            table.column_names.index(name), name, pc.if_else(known, column, pa.scalar(rest, column.type))
        )

    return replace(run, read=read)


def heat_of_changes(found: Comparison) -> HeatMap | None:
    """The differences of the second system from the first, by segment and metric."""
    pair = (found.systems[0], found.systems[1])
    some = [one for one in found if one.segment is not None and (one.baseline, one.other) == pair]
    cells = {
        (str(one.segment), one.metric): (
            one.delta,
            ("+" if one.delta > 0 else "") + number(one.delta),
            one.n_paired,
            found.verdict(one) != "–",
        )
        for one in some
    }
    return _map(cells, found.better)


def heat_of_means(found: IntervalSummary) -> HeatMap | None:
    """The means by segment and metric, coloured by their difference from the mean of all rows."""
    whole = {one.metric: one.mean for one in found if one.segment is None}
    cells = {
        (str(one.segment), one.metric): (
            one.mean - whole[one.metric],
            number(one.mean),
            one.n,
            not (one.low <= whole[one.metric] <= one.high),
        )
        for one in found
        if one.segment is not None
    }
    return _map(cells, found.better)


def _map(cells: Mapping[tuple[str, str], tuple[float, str, int, bool]], better: Mapping[str, Better]) -> HeatMap | None:
    every = list(dict.fromkeys(metric for _, metric in cells))
    metrics = every[:METRICS]
    widest = {
        metric: max(
            (abs(one[0]) for key, one in cells.items() if key[1] == metric and not math.isnan(one[0])), default=0
        )
        for metric in metrics
    }
    lines = [
        (
            visible(segment),
            [_cell(cells.get((segment, metric)), widest[metric], better.get(metric)) for metric in metrics],
        )
        for segment in dict.fromkeys(segment for segment, _ in cells)
    ]
    return HeatMap([visible(name) for name in metrics], lines, len(every)) if lines else None


def _cell(one: tuple[float, str, int, bool] | None, widest: float, better: Better) -> HeatCell | None:
    if one is None:
        return None
    delta, text, n, marked = one
    if math.isnan(delta):
        return HeatCell("–", None, n)
    sign = -1 if better == "lower" else 1
    return HeatCell(text, round(3 * sign * delta / widest) if widest else 0, n, marked)
