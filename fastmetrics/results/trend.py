"""A metric over the runs in a folder, sorted by start time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.display import Grid, ShownSequence, number, sparkline
from fastmetrics.base.drawing import PALETTE, canvas, drawn, label
from fastmetrics.base.errors import Argument, OptionError, UnknownNameError
from fastmetrics.base.shared_parameters import Help
from fastmetrics.results.by_segment import summarize_by
from fastmetrics.results.open_runs import list_runs
from fastmetrics.results.score_file import column_named
from fastmetrics.stats.mean_interval import interval_notes, interval_text
from fastmetrics.tables.addresses import shown_address, within

_WIDTH = 20


@dataclass(frozen=True)
class TrendPoint:
    """One run: the mean of the metric, its interval, and whether its rows equal those of the previous run."""

    file: str
    name: str | None
    began: str | None
    n: int
    mean: float
    low: float
    high: float
    interval: str
    """The kind of interval: a key of :data:`fastmetrics.stats.mean_interval.NAMES`."""
    interval_note: str | None
    """Why the interval may hold another level, or why there is none."""
    other_rows: bool | None
    """Whether the ids or questions differ from those of the previous run; None if unknown."""


@dataclass(frozen=True)
class Trend(ShownSequence[TrendPoint], of="points"):
    """A metric over runs; prints as a table with the intervals drawn to scale."""

    metric: str
    points: Sequence[TrendPoint]
    confidence: float

    def grids(self) -> list[Grid]:
        """The runs, first to last."""
        values = [
            value for point in self.points for value in (point.low, point.high, point.mean) if not math.isnan(value)
        ]
        least, most = min(values, default=0.0), max(values, default=0.0)
        rows = [
            (
                (point.name or point.file) + ("*" if point.other_rows else ""),
                (point.began or "–")[:16],
                number(point.n),
                number(point.mean),
                interval_text(point.low, point.high, point.interval_note),
                _drawn(point, least, most),
            )
            for point in self.points
        ]
        return [Grid(("run", "began", "n", self.metric, "interval", ""), rows)]

    def remarks(self) -> Sequence[str]:
        """The kind of intervals, and the runs with different rows."""
        notes = interval_notes(
            ((point.name or point.file, point.interval, point.interval_note) for point in self.points), self.confidence
        )
        if len(self) > 1:
            notes.append(f"means from the first run to the last: {sparkline(point.mean for point in self)}")
        marked = any(point.other_rows for point in self.points)
        return [
            *notes,
            *(["* other rows than in the previous run, so the questions differ"] * marked),
        ]

    def to_dict(self) -> dict[str, Any]:
        """``{"metric", "runs": [{"file", "name", "began", "n", "mean", "low", "high", "interval", …}, …]}``."""
        return {"metric": self.metric, "runs": [asdict(point) for point in self.points]}

    def plot(self, figure: Any = None) -> Any:
        """The axes of a chart: the mean over the runs, with its intervals; * marks other rows than before.

        ``figure`` is one of Matplotlib, or a part of one; by default a new one.
        """
        figure = canvas(figure, 6.0, 3.0)
        axes = figure.add_subplot()
        places = np.arange(len(self))
        means, low, high = (
            np.array([getattr(point, name) for point in self], float) for name in ("mean", "low", "high")
        )
        axes.fill_between(places, low, high, color=PALETTE[4], alpha=0.4, linewidth=0)
        axes.plot(places, means, "o-", color=PALETTE[0], markersize=4)
        names = [label(point.name or point.file) + "*" * bool(point.other_rows) for point in self]
        axes.set_xticks(places, names, rotation=30, ha="right")
        axes.set_ylabel(label(self.metric))
        return drawn(figure)

    def to_arrow(self) -> pa.Table:
        """One row per run."""
        types = {"str": pa.string(), "str | None": pa.string(), "int": pa.int64(), "float": pa.float64()}
        types["bool | None"] = pa.bool_()
        schema = pa.schema([(field.name, types[str(field.type)]) for field in fields(TrendPoint)])
        return pa.Table.from_pylist([asdict(point) for point in self.points], schema)


def _drawn(point: TrendPoint, least: float, most: float) -> str:
    """The interval as a line and the mean as a point, on a scale common to all runs."""
    if math.isnan(point.mean):
        return " " * _WIDTH

    def place(value: float) -> int:
        return round((value - least) / (most - least) * (_WIDTH - 1)) if most > least else 0

    low, high = (place(point.mean if math.isnan(bound) else bound) for bound in (point.low, point.high))
    line = [" "] * low + ["─"] * (high - low + 1) + [" "] * (_WIDTH - 1 - high)
    line[place(point.mean)] = "●"
    return "".join(line)


def trend(
    folder: Annotated[str | Path, Help("A folder of outputs, or its address.")],
    metric: shared.Metric,
    *,
    by: shared.By = None,
    segment: shared.Segment = None,
    cluster: shared.Cluster = None,
    confidence: shared.Confidence = 0.95,
    interval: shared.Interval = "auto",
    bootstrap: shared.Bootstrap = 2_000,
    seed: shared.Seed = 0,
    threads: shared.Threads = None,
) -> Trend:
    """The mean of a metric with its interval for each run in a folder, or at an address, in ``fm.results.list_runs``'s
    order.

    ``by`` and ``segment`` select the rows of one segment, named as in the output of ``summarize_by``: ``by="language",
    segment="language=ru"``.  Runs without the metric or the segment are omitted.  Runs without times (``score
    --times``) come last, sorted by name.  Rows with one id are several answers to a question, whose score is their
    mean.

    >>> import fastmetrics as fm
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"id": 1, "answer": "in Paris"}')
    >>> for name in ("a", "b"):
    ...     _ = fm.score(folder / "rows.jsonl", "answer_words", output=folder / f"{name}.parquet", name=name)
    >>> [(one.name, one.mean, one.other_rows) for one in fm.trend(folder, "answer_words")]
    [('a', 2.0, None), ('b', 2.0, False)]

    Raises ``UnknownNameError`` if no run has the metric or the segment, ``OptionError`` for ``by`` without ``segment``,
    and the errors of ``fm.results.list_runs``.
    """
    if (by is None) != (segment is None):
        both = Argument("by"), " and ", Argument("segment")
        raise OptionError(*both, " must be given together: a column and one of its segments")
    runs = list_runs(folder).to_pylist()
    columns = {run["file"]: column_named(metric, run["metrics"]) for run in runs}
    having = [run for run in runs if columns[run["file"]] in run["metrics"]]
    if not having:
        metrics = dict.fromkeys(name for run in runs for name in run["metrics"])
        raise UnknownNameError(
            f"{shown_address(folder)}: no run has it: ", UnknownNameError.of("metric", metric, metrics).message
        )
    how: dict[str, Any] = {
        "cluster": cluster,
        "confidence": confidence,
        "interval": interval,
        "bootstrap": bootstrap,
        "seed": seed,
        "threads": threads,
    }
    points: list[TrendPoint] = []
    segments: dict[str, None] = {}
    before: dict[str, Any] | None = None
    for run in having:
        means = summarize_by(within(folder, run["file"]), metrics=[columns[run["file"]]], by=by, **how)
        figures = next((mean for mean in means if mean.segment == segment), None)
        segments |= dict.fromkeys(str(mean.segment) for mean in means if mean.segment is not None)
        if figures is None:
            continue
        other = None if before is None else _other_rows(before, run)
        described = {key: run[key] for key in ("file", "name", "began")}
        shared = {key: getattr(figures, key) for key in ("n", "mean", "low", "high", "interval", "interval_note")}
        points.append(TrendPoint(**described, **shared, other_rows=other))
        before = run
    if not points:
        raise UnknownNameError.of("segment", str(segment), list(segments))
    return Trend(columns[having[0]["file"]], points, confidence)


def _other_rows(before: dict[str, Any], run: dict[str, Any]) -> bool | None:
    """Whether two runs scored different rows, by the fingerprints that both have."""
    keys = [key for key in ("ids", "questions") if before[key] is not None and run[key] is not None]
    return any(before[key] != run[key] for key in keys) if keys else None
