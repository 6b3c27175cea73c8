"""Means of scores with their intervals, over all rows and over segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.column_names import distinct, listed
from fastmetrics.base.display import Grid, OwnName, ShownSequence, lines_of, number
from fastmetrics.base.drawing import MOST, Forest, Picture, Plotted, left_out
from fastmetrics.base.notes import Note, interval_notes, said
from fastmetrics.base.options import Choice, Real, Seed, Whole, argument, check_names
from fastmetrics.base.progress import reported
from fastmetrics.base.specs import Better
from fastmetrics.base.threads import cores
from fastmetrics.plans.stored_metadata import Stored
from fastmetrics.results.aligned_scores import units_of
from fastmetrics.results.heat_maps import HeatMap, heat_map, heat_picture, scale_of
from fastmetrics.results.opening_scores import open_scores
from fastmetrics.results.pooled_sums import pooled_systems
from fastmetrics.results.quantities import Method, Scores
from fastmetrics.results.row_groups import (
    FEW_ROWS,
    Segment,
    few_rows_note,
    worst_first,
)
from fastmetrics.results.score_columns import belonging, declared_bounds, directions
from fastmetrics.results.score_table import bounds_of, shared_metrics
from fastmetrics.stats.mean_interval import INTERVALS


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """The mean of a metric over a segment (None: all rows), and its interval."""

    metric: str
    segment: str | None
    n: int
    n_missing: int
    """Rows without a finite score, for any reason; over all rows also those that scoring rejected."""
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
class IntervalSummary(ShownSequence[MeanInterval], Plotted, of="means"):
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
            *(lines_of(means, (OwnName(metric), "segment"), *_COLUMNS) for metric, means in ordered.items()),
        ]

    def remarks(self) -> Sequence[str]:
        """The kind of intervals, and the number of small segments."""
        of = "" if self.cluster is None else Note("clustered", column=self.cluster)
        small = {mean.segment for mean in self.means if mean.segment and mean.n < FEW_ROWS}
        kinds = interval_notes(self.record(), self.confidence, of)
        return said(Note("means_of", scores=self.scores), kinds, self.notes, few_rows_note(small))

    def heat_map(self, stored: Stored | None = None) -> HeatMap | None:
        """The means by segment and metric, coloured by their difference from the mean of all rows."""
        whole = {mean.metric: mean.mean for mean in self if mean.segment is None}
        parts = [(one, whole[one.metric]) for one in self if one.segment is not None]
        cells = {
            (str(one.segment), one.metric): (
                one.mean - mean,
                number(one.mean),
                one.n,
                one.low > mean or one.high < mean,
            )
            for one, mean in parts
        }
        every = [(one.metric, one.mean - mean) for one, mean in parts]
        return heat_map(cells, self.better, declared_bounds(whole, stored or {}), every)

    def picture(self) -> Picture:
        """The means with their intervals, or a heat map of the segments of several metrics."""
        heat = self.heat_map()
        if heat is not None and heat.n_metrics > 1:
            return heat_picture({"": heat}, "the interval leaves out the mean of all rows")
        bounds = declared_bounds([mean.metric for mean in self.means], {})
        names = [
            f"{mean.metric if heat is None else mean.segment or 'all rows'}, n = {mean.n:,}" for mean in self.means
        ]
        return Forest(
            rows=[row._replace(figure=name) for name, row in zip(names, self.record()[:MOST], strict=False)],
            scales={name: scale_of(mean.metric, bounds) for name, mean in zip(names, self.means, strict=True)},
            title=("" if heat is None else f"{self.means[0].metric}: ") + "means with their intervals",
            notes=left_out(self.means, "metrics" if heat is None else "means"),
        )


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
    columns, flagged, chosen = distinct(by, "by"), distinct(flags, "flags"), listed(metrics, "metrics")
    run = open_scores(scores, asked=[*chosen, *flagged])
    beside = [*columns, *([cluster] if cluster else [])]
    names = shared_metrics([run], chosen, beside=beside, flags=flagged)
    names = names if metrics else [name for name in names if name not in beside]
    loaded = run.by_column([*names, *beside, *belonging(run.columns), *run.keys()]).with_flags(flagged)
    units = replace(units_of(loaded), cluster=cluster)
    divided, segments = units.divided(columns) if columns else (units, [])
    parts = [(units, Segment(None, np.arange(units.n))), *((divided, segment) for segment in segments)]
    method = Method(confidence=confidence, interval=interval, bootstrap=bootstrap, seed=seed, threads=threads)
    means: list[MeanInterval] = []
    estimated: list[str] = []
    bounds = bounds_of([loaded], names)
    for name in reported(names, "computing intervals", "metrics", len(names)):
        scores = {id(some): Scores.of(some, name, bounds.get(name)) for some in (units, divided)}
        for some, part in parts:
            found = scores[id(some)].part(part.rows, some.clusters_of(part.rows)).mean(0, method)
            of_mean = found.interval
            figures: tuple[Any, ...] = (of_mean.low, of_mean.high, of_mean.kind, of_mean.note, found.n_clusters)
            lost = len(part.rows) - found.n if found.n_failed is None else found.n_failed
            lost += run.n_rejected if part.name is None else 0
            means.append(MeanInterval(name, part.name, found.n, lost, found.value, *figures))
        estimated += scores[id(units)].notes(name, [run.name])
    ways = directions(names, run.declared, {})
    return IntervalSummary(
        run.name,
        means,
        ways,
        confidence,
        cluster,
        [*estimated, *pooled_systems(run, columns), *run.rejected_notes, *units.repeat_notes, *units.infinite_notes],
    )
