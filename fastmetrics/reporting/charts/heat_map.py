"""Heat map of segments and metrics; the colour of a cell shows how much better or worse it is."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.display import number
from fastmetrics.base.errors import visible
from fastmetrics.base.specs import Better
from fastmetrics.metrics.stored_declarations import Stored
from fastmetrics.results.comparison import Comparison
from fastmetrics.results.score_file import declared_bounds
from fastmetrics.results.score_run import ScoreRun
from fastmetrics.results.summarize_by import IntervalSummary

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


def _renamed(run: ScoreRun, name: str, shown_values: pa.Array, others: str) -> ScoreRun:
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


def heat_of_changes(comparison: Comparison, pair: tuple[str, str] | None = None) -> HeatMap | None:
    """The differences of the second system of a pair from its first, by default of the comparison's, by segment and
    metric; the maps of all pairs have one scale of colours, and metrics without a row of both are left out."""
    pair = pair or (comparison.systems[0], comparison.systems[1])
    segments = [difference for difference in comparison if difference.segment is not None]
    some = [difference for difference in segments if (difference.baseline, difference.other) == pair]
    scored = {difference.metric for difference in some if difference.n_paired}
    cells = {
        (str(difference.segment), difference.metric): (
            difference.delta,
            ("+" if difference.delta > 0 else "") + number(difference.delta),
            difference.n_paired,
            comparison.verdict(difference) != "–",
        )
        for difference in some
        if difference.metric in scored
    }
    every = [(difference.metric, difference.delta) for difference in segments]
    decided = {
        difference.metric
        for difference in comparison
        if (difference.baseline, difference.other) == pair and comparison.verdict(difference) != "–"
    }
    return _map(cells, comparison.better, comparison.bounds, every, decided)


def heat_of_means(means: IntervalSummary, stored: Stored | None = None) -> HeatMap | None:
    """The means by segment and metric, coloured by their difference from the mean of all rows."""
    whole = {interval.metric: interval.mean for interval in means if interval.segment is None}
    cells = {
        (str(interval.segment), interval.metric): (
            interval.mean - whole[interval.metric],
            number(interval.mean),
            interval.n,
            not (interval.low <= whole[interval.metric] <= interval.high),
        )
        for interval in means
        if interval.segment is not None
    }
    every = [(metric, delta) for (_, metric), (delta, *_) in cells.items()]
    return _map(cells, means.better, declared_bounds(whole, stored or {}), every)


def _map(
    cells: Mapping[tuple[str, str], tuple[float, str, int, bool]],
    better: Mapping[str, Better],
    bounds: Mapping[str, tuple[float, float] | None],
    differences: Sequence[tuple[str, float]],
    decided: Collection[str] = (),
) -> HeatMap | None:
    """Metrics with the same bounds have one scale of colours, which the largest of the differences of metrics ends.

    A metric without a direction has no colour. The metrics of ``decided`` and those with a marked cell come first.
    """
    notable = {metric for (_, metric), (*_, marked) in cells.items() if marked} | set(decided)
    every = sorted(dict.fromkeys(metric for _, metric in cells), key=lambda metric: metric not in notable)
    metrics = every[:METRICS]
    widest: dict[Any, float] = {}
    for metric, delta in differences:
        if not math.isnan(delta) and better.get(metric) is not None:
            scale = scale_of(metric, bounds)
            widest[scale] = max(widest.get(scale, 0.0), abs(delta))
    lines = [
        (
            visible(segment),
            [
                _cell(cells.get((segment, metric)), widest.get(scale_of(metric, bounds), 0.0), better.get(metric))
                for metric in metrics
            ],
        )
        for segment in dict.fromkeys(segment for segment, _ in cells)
    ]
    return HeatMap([visible(name) for name in metrics], lines, len(every)) if lines else None


def scale_of(metric: str, bounds: Mapping[str, tuple[float, float] | None]) -> tuple[float, float] | str:
    """What the metrics of one scale have in common: their bounds; a metric without finite bounds is alone."""
    own = bounds.get(metric)
    return own if own is not None and all(map(math.isfinite, own)) else metric


def _cell(cell: tuple[float, str, int, bool] | None, widest: float, better: Better) -> HeatCell | None:
    if cell is None:
        return None
    delta, text, n, marked = cell
    if math.isnan(delta):
        return HeatCell("–", None, n)
    if better is None:
        return HeatCell(text, None, n, marked)
    sign = -1 if better == "lower" else 1
    return HeatCell(text, round(3 * sign * delta / widest) if widest else 0, n, marked)
