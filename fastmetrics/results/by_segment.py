"""Means of scores with their intervals, over all rows and over segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.column_names import distinct, listed
from fastmetrics.base.display import Grid, ShownSequence, lines_of, number
from fastmetrics.base.drawing import MOST, ForestRow, drawn, forest, left_out
from fastmetrics.base.notes import interval_notes
from fastmetrics.base.options import Choice, Real, Seed, Whole, argument, check_names
from fastmetrics.base.progress import reported
from fastmetrics.base.specs import Better
from fastmetrics.base.threads import cores
from fastmetrics.plans.stored_metadata import Stored
from fastmetrics.results.aligned_scores import units_of
from fastmetrics.results.heat_maps import HeatMap, draw_heat_maps, heat_map, scale_of
from fastmetrics.results.opening_scores import open_scores
from fastmetrics.results.quantities import Method, Scores
from fastmetrics.results.row_groups import (
    FEW_ROWS,
    Segment,
    few_rows_note,
    worst_first,
)
from fastmetrics.results.score_columns import declared_bounds, directions
from fastmetrics.results.score_table import bounds_of, shared_metrics
from fastmetrics.stats.mean_interval import INTERVALS


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """The mean of a metric over a segment (None: all rows), and its interval."""

    metric: str
    segment: str | None
    n: int
    n_missing: int
    """Rows without a finite score, for any reason."""
    mean: float
    low: float
    high: float
    interval: str
    """The kind of interval: a key of :data:`fastmetrics.base.notes.NAMES`."""
    interval_note: str | None
    """Why the interval may hold another level, or why there is none."""
    n_clusters: int | None
    """The number of clusters, if rows are clustered."""


@dataclass(frozen=True)
class IntervalSummary(ShownSequence[MeanInterval], of="means"):
    """Means with intervals; prints as a table for each metric, the worst segment first."""

    scores: str
    means: Sequence[MeanInterval]
    better: Mapping[str, Better]
    confidence: float
    cluster: str | None
    notes: Sequence[str] = ()

    def grids(self) -> list[Grid]:
        """The means over all rows, then over the segments of each metric."""
        segments: dict[str, list[MeanInterval]] = {}
        for mean in self.means:
            if mean.segment is not None:
                segments.setdefault(mean.metric, []).append(mean)
        whole = [mean for mean in self.means if mean.segment is None]
        ordered = {name: worst_first(means, "mean", self.better[name]) for name, means in segments.items()}
        return [
            lines_of(whole, "metric", *_COLUMNS),
            *(lines_of(means, (metric, "segment"), *_COLUMNS) for metric, means in ordered.items()),
        ]

    def remarks(self) -> Sequence[str]:
        """The kind of intervals, and the number of small segments."""
        of = "" if self.cluster is None else f", clustered by {self.cluster!r}"
        kinds = interval_notes(((mean.metric, mean) for mean in self.means), self.confidence, of)
        small = few_rows_note({mean.segment for mean in self.means if mean.segment and mean.n < FEW_ROWS})
        return [f"means of {self.scores}", *kinds, *self.notes, *small]

    def heat_map(self, stored: Stored | None = None) -> HeatMap | None:
        """The means by segment and metric, coloured by their difference from the mean of all rows."""
        whole = {interval.metric: interval.mean for interval in self if interval.segment is None}
        cells = {
            (str(interval.segment), interval.metric): (
                interval.mean - whole[interval.metric],
                number(interval.mean),
                interval.n,
                interval.low > whole[interval.metric] or interval.high < whole[interval.metric],
            )
            for interval in self
            if interval.segment is not None
        }
        every = [(metric, delta) for (_, metric), (delta, *_) in cells.items()]
        return heat_map(cells, self.better, declared_bounds(whole, stored or {}), every)

    def plot(self, figure: Any = None) -> Any:
        """The axes of a chart: the means with their intervals, or a heat map of the segments of several metrics.

        ``figure`` is one of Matplotlib, or a part of one; by default a new one.
        """
        heat = self.heat_map()
        if heat is not None and heat.n_metrics > 1:
            return drawn(*draw_heat_maps(figure, {"": heat}, "the interval leaves out the mean of all rows"))
        return drawn(_draw_means(figure, self.means), left_out(self.means, "metrics" if heat is None else "means"))


def _draw_means(figure: Any, means: Sequence[MeanInterval]) -> Any:
    """A row for each metric, or for each segment of the one metric."""
    bounds = declared_bounds([mean.metric for mean in means], {})
    divided = any(mean.segment is not None for mean in means)
    rows, scales = [], {}
    for mean in means[:MOST]:
        name = f"{(mean.segment or 'all rows') if divided else mean.metric}, n = {mean.n:,}"
        rows.append(ForestRow(name, "", mean.mean, mean.low, mean.high))
        scales[name] = scale_of(mean.metric, bounds)
    title = f"{means[0].metric}: means with their intervals" if divided else "means with their intervals"
    return forest(figure, rows, title, scales)


def _rows(mean: MeanInterval) -> str:
    """The number of rows, with a star at a small segment."""
    return number(mean.n) + "*" * (mean.segment is not None and mean.n < FEW_ROWS)


_COLUMNS: tuple[Any, ...] = ("mean", ("interval", lambda mean: mean), ("n", _rows), ("no score", "n_missing"))


def summarize_by(
    scores: shared.Scores,
    *,
    by: shared.By = None,
    metrics: shared.OnlyMetrics = None,
    cluster: shared.Cluster = None,
    confidence: shared.Confidence = 0.95,
    interval: shared.Interval = "auto",
    bootstrap: shared.Bootstrap = 2_000,
    seed: shared.Seed = 0,
    threads: shared.Threads = None,
    flags: shared.Flags = None,
) -> IntervalSummary:
    """The mean of each metric with its interval, over all rows and over each segment.

    ``scores`` is a score file, folder, address or table.  ``by`` names kept columns whose combined values define
    segments (numeric columns with more than 12 values are divided into quartiles).  Rows whose score is missing,
    undefined or infinite are counted.  Rows with one id are several answers to a question, whose score is their mean.
    ``cluster``, ``confidence``, ``interval``, ``bootstrap``, ``seed``, ``threads`` and ``flags`` are as in
    :func:`fastmetrics.results.compare.compare`.

    >>> import fastmetrics as fm
    >>> scores = {"token_f1": [0.2, 0.4, 0.9, 0.7], "language": ["ru", "ru", "en", "en"]}
    >>> [(one.segment, round(one.mean, 3), one.n) for one in fm.results.summarize_by(scores, by="language")]
    [(None, 0.55, 4), ('language=en', 0.8, 2), ('language=ru', 0.3, 2)]

    Raises ``UnknownNameError`` for an unknown metric, ``ColumnError`` for a missing column.
    """
    check_names(cluster=cluster)
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    argument("interval", interval, Choice(*INTERVALS))
    argument("bootstrap", bootstrap, Whole(1, 10_000_000))
    argument("seed", seed, Seed)
    cores(threads)
    run, columns = open_scores(scores), distinct(by, "by")
    beside = [*columns, *([cluster] if cluster else [])]
    names = shared_metrics([run], listed(metrics, "metrics"))
    names = names if metrics else [name for name in names if name not in beside]
    loaded = run.by_column([*names, *beside, *run.keys()]).with_flags(distinct(flags, "flags"))
    units = replace(units_of(loaded), cluster=cluster)
    divided, segments = units.divided(columns) if columns else (units, [])
    parts = [(units, Segment(None, np.arange(units.n))), *((divided, segment) for segment in segments)]
    method = Method(confidence=confidence, interval=interval, bootstrap=bootstrap, seed=seed, threads=threads)
    means: list[MeanInterval] = []
    bounds = bounds_of([loaded], names)
    for name in reported(names, "computing intervals", "metrics", len(names)):
        scores = {id(some): Scores.of(some, name, bounds.get(name)) for some in (units, divided)}
        for some, part in parts:
            found = scores[id(some)].part(part.rows, some.clusters_of(part.rows)).mean(0, method)
            of_mean = found.interval
            figures: tuple[Any, ...] = (of_mean.low, of_mean.high, of_mean.kind, of_mean.note, found.n_clusters)
            means.append(MeanInterval(name, part.name, found.n, len(part.rows) - found.n, found.value, *figures))
    ways = directions(names, run.declared, {})
    return IntervalSummary(run.name, means, ways, confidence, cluster, [*units.repeat_notes, *units.infinite_notes])
