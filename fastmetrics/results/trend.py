"""A metric over the runs of a folder, and an alert by rules of ``gate`` on the last of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.display import Grid, OwnName, ShownSequence, lines_of, sparkline
from fastmetrics.base.drawing import Curves, Picture, Plotted, label
from fastmetrics.base.errors import FileFormatError, UnknownNameError
from fastmetrics.base.notes import Figure, Note, interval_notes, said
from fastmetrics.base.options import LimitedText, Whole, argument
from fastmetrics.base.shared_parameters import Help, also_named
from fastmetrics.results.by_segment import summarize_by
from fastmetrics.results.gate import Gate, gate
from fastmetrics.results.gate_rules import parse_rules
from fastmetrics.results.run_folders import check_is_last, left_out, mean_of_runs, readable_runs
from fastmetrics.results.score_columns import column_named
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
class Trend(ShownSequence[TrendPoint], Plotted, of="runs"):
    """A metric over runs; prints as a table with the intervals drawn to scale."""

    metric: str
    runs: Sequence[TrendPoint]
    confidence: float
    notes: Sequence[str] = ()
    """The runs that could not be read and are left out."""
    alert: Gate | None = None
    """The rules on the last run, if there are any."""

    @property
    def headline(self) -> str | None:
        """Whether the last run meets the rules of an alert."""
        return None if self.alert is None else self.alert.headline

    def grids(self) -> list[Grid]:
        """The runs, first to last, and the rules of an alert."""
        values = [value for run in self.runs for value in (run.low, run.high, run.mean) if not math.isnan(value)]
        drawn = partial(_drawn, least=min(values, default=0.0), most=max(values, default=0.0))
        began = ("began", lambda run: (run.began or "–")[:16])
        columns = (
            ("run", _name),
            began,
            "n",
            (OwnName(self.metric), "mean"),
            ("interval", lambda run: run),
            ("", drawn),
        )
        return [lines_of(self.runs, *columns), *([] if self.alert is None else self.alert.grids())]

    def remarks(self) -> Sequence[str]:
        """The kind of intervals, the runs with different rows or left out, and the notes of an alert."""
        notes = said(
            interval_notes(self.record(), self.confidence),
            len(self) > 1 and Note("first_to_last", line=sparkline(run.mean for run in self.runs)),
            any(run.other_rows for run in self.runs) and Note("other_rows"),
            list(self.notes),
            [] if self.alert is None else list(self.alert.remarks()),
        )
        return list(dict.fromkeys(notes))

    def record(self) -> Sequence[Figure]:
        """The mean of each run."""
        return [Figure.of(run.name or run.file, run) for run in self.runs]

    def picture(self) -> Picture:
        """The mean over the runs, with its intervals; * marks other rows than before."""
        values = (np.array([getattr(point, name) for point in self], float) for name in ("mean", "low", "high"))
        curves = {"": (np.arange(len(self)), *values)}
        return Curves(curves=curves, axis_names=("", label(self.metric)), names=list(map(_name, self)))


def _name(run: TrendPoint) -> str:
    return (run.name or run.file) + "*" * bool(run.other_rows)


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


@also_named(metrics="metric")
def trend(
    folder: Annotated[str | Path, Help("A folder of outputs, or its address.")],
    metric: shared.Metric,
    *,
    alert: Annotated[
        Sequence[str] | str,
        Help("A rule of gate on the last run, repeatable; of a change, without a metric: 'drop.point <= 0.02'."),
    ] = (),
    last: Annotated[
        int, Help("Changes are against the mean of so many runs before the last, question by question.")
    ] = 7,
    better: shared.Better = None,
    allow_differences: shared.AllowDifferences = False,
    cluster: shared.Cluster = None,
    confidence: shared.Confidence = 0.95,
    skip_unreadable: shared.SkipUnreadable = False,
) -> Trend:
    """The mean of a metric with its interval for each run in a folder, or at an address, in ``fm.results.list_runs``'s
    order.

    Runs without the metric are omitted.  Runs without times (``score
    --times``) come last, sorted by name.  Rows with one id are several answers to a question, whose score is their
    mean.  With rules, ``alert`` of the result is what ``fm.gate`` says of the last run.

    >>> import fastmetrics as fm
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"id": 1, "answer": "in Paris"}')
    >>> for name in ("a", "b"):
    ...     _ = fm.score(folder / "rows.jsonl", "answer_words", output=folder / f"{name}.parquet", name=name)
    >>> [(one.name, one.mean, one.other_rows) for one in fm.trend(folder, "answer_words")]
    [('a', 2.0, None), ('b', 2.0, False)]

    Raises ``UnknownNameError`` if no run has the metric, and the errors of ``fm.results.list_runs`` and ``fm.gate``.
    """
    argument("metric", metric, LimitedText(what="a name"))
    argument("last", last, Whole(1, 1_000))
    rules: Any = [replace(rule, metric=rule.metric or metric) for rule in parse_rules(alert)] if alert else []
    runs, skipped = readable_runs(folder, skip_unreadable)
    notes = list[str]()
    columns = {run["file"]: column_named(metric, run["metrics"]) for run in runs}
    having = [run for run in runs if columns[run["file"]] in run["metrics"]]
    points: list[TrendPoint] = []
    shown: list[dict[str, Any]] = []
    for run in having:
        file, name = run["file"], columns[run["file"]]
        path = within(folder, file)
        try:
            found = summarize_by(path, metrics=[name], cluster=cluster, confidence=confidence)
        except FileFormatError as error:
            skipped.append(left_out(path, error, skip_unreadable))
            continue
        notes += [
            Note("of_run", run=file, note=note)
            for note in found.notes
            if getattr(note, "id", "") in ("pooled_systems", "rejected_rows")
        ]
        mean = found[0]
        figures = {key: getattr(mean, key) for key in ("n", "mean", "low", "high", "interval", "interval_note")}
        other = _other_rows(shown[-1], run) if shown else None
        points.append(TrendPoint(file, run["name"], run["began"], **figures, other_rows=other))
        shown.append(run)
    if not points:
        metrics = dict.fromkeys(name for run in runs for name in run["metrics"])
        unknown = UnknownNameError.of("metric", metric, metrics).message
        raise UnknownNameError("; ".join([f"{shown_address(folder)}: no run has it: {unknown}", *skipped]))
    checked = None
    if rules:
        notes += check_is_last(shown, skipped, ", or check the run with gate")
        path, base, of_base = within(folder, shown[-1]["file"]), None, list[str]()
        how: dict[str, Any] = {"allow": allow_differences, "skip": skip_unreadable, "having": metric}
        if any(rule.is_change for rule in rules):
            base, of_base = mean_of_runs(folder, last, path, shown[-1]["began"], **how)
        options: dict[str, Any] = {"better": better, "allow_differences": allow_differences, "cluster": cluster}
        checked = gate(path, rules, baseline=base, confidence=confidence, **options)
        checked = replace(checked, notes=[*of_base, *checked.notes])
    return Trend(columns[points[-1].file], points, confidence, [*skipped, *notes], checked)


def _other_rows(before: dict[str, Any], run: dict[str, Any]) -> bool | None:
    """Whether two runs scored different rows, by the fingerprints that both have."""
    keys = [key for key in ("ids", "questions") if before[key] is not None and run[key] is not None]
    return any(before[key] != run[key] for key in keys) if keys else None
