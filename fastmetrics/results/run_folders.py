"""Folders of runs: their list, the last of them, the mean of the last, and a metric over all of them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.column_names import roles
from fastmetrics.base.display import Grid, ShownSequence, lines_of, sparkline
from fastmetrics.base.drawing import Curves, Picture, Plotted, label
from fastmetrics.base.errors import Argument, FileFormatError, OptionError, UnknownNameError
from fastmetrics.base.notes import Figure, Note, interval_notes, said
from fastmetrics.base.options import LimitedText, argument
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.base.shared_parameters import Help
from fastmetrics.results.aligned_scores import check_settings
from fastmetrics.results.by_segment import summarize_by
from fastmetrics.results.opening_scores import metadata_of, open_scores
from fastmetrics.results.score_columns import column_named
from fastmetrics.results.score_table import ScoreTable
from fastmetrics.tables.addresses import WORK_SUFFIX, Url, as_local, is_url, parse, shown_address, within
from fastmetrics.tables.formats import FORMATS
from fastmetrics.tables.input_files import reading
from fastmetrics.tables.opening import expand
from fastmetrics.tables.remote_files import listing, look, missing, patiently, plainly, side_by_side, store
from fastmetrics.tables.resume import described_inputs

# Listing the runs in a folder by their metadata, and choosing the last of them.


SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("file", "name", "began", "ended")),
        ("rows", pa.int64()),
        ("metrics", pa.list_(pa.string())),
        *((name, pa.string()) for name in ("ids", "questions", "inputs")),
    ]
)


def list_runs(folder: str | Path) -> pa.Table:
    """The outputs of runs in a folder or at an address, one per row, sorted by start time and then by name.

    Columns: ``file`` (its name in the folder; may be a folder of parts), ``name``, ``began`` and ``ended`` (null unless
    the run stored them), ``rows``, ``metrics``, the fingerprints ``ids`` and ``questions``, and the ``inputs`` with
    their sizes.  Runs with the same fingerprint scored the same rows, in any order.  Files that are not outputs of a
    run are ignored.

    >>> import fastmetrics as fm
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"id": 1, "answer": "in Paris"}')
    >>> _ = fm.score(folder / "rows.jsonl", "answer_words", output=folder / "scores.parquet", name="first")
    >>> fm.results.list_runs(folder).select(["file", "name", "rows"]).to_pylist()
    [{'file': 'scores.parquet', 'name': 'first', 'rows': 1}]

    Raises ``FileFormatError`` for a folder that cannot be read, and for damaged metadata.
    """
    if not isinstance(folder, str | Path):
        raise OptionError(Argument("folder", folder), ": expected the path or the address of a folder")
    listed = _behind(parse(as_local(folder))) if is_url(as_local(folder)) else _on_disk(as_local(folder))
    runs = []
    for (name, *_), metadata in zip(listed, side_by_side(_Entry.metadata, listed), strict=True):
        if metadata is not None and metadata.metrics is not None:
            prints = metadata.fingerprint or {}
            rows = max((counts.n_rows for counts in metadata.metrics.values()), default=0)
            metrics = list(metadata.metrics if metadata.scores is None else metadata.scores)
            keys = (prints.get("ids"), prints.get("questions"), described_inputs(metadata.inputs))
            runs.append((name, metadata.name, metadata.began, metadata.ended, rows, metrics, *keys))
    runs.sort(key=lambda run: (run[2] is None, run[2] or "", run[0]))
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, run, strict=True)) for run in runs], SCHEMA)


class _Entry(NamedTuple):
    """A file or folder in a folder of runs."""

    name: str
    path: str
    is_folder: bool
    is_remote: bool

    def metadata(self) -> ScoreMetadata | None:
        """The metadata of an output; None for anything else."""
        if self.is_folder:
            return None if self.name.endswith(WORK_SUFFIX) else metadata_of(self.path)
        suffixes = [suffix for format in FORMATS.values() if format.reader is not None for suffix in format.suffixes]
        return metadata_of(self.path, expand(self.path)) if self.name.endswith(tuple(suffixes)) else None


def _on_disk(folder: str) -> list[_Entry]:
    with reading(folder):
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    some = [entry for entry in entries if entry.is_dir() or entry.is_file()]
    return [_Entry(entry.name, entry.path, entry.is_dir(), is_remote=False) for entry in some]


def _behind(url: Url) -> list[_Entry]:
    with reading(url.shown), plainly():
        place = store(url)
        files, folders = patiently(lambda: listing(place, deep=False))
        if not (files or folders or look(place).type.name == "Directory"):
            raise FileFormatError(f"{url.shown}: cannot be read: {missing(place)}")
    names = sorted([(name, False) for name in files] + [(name, True) for name in folders])
    return [_Entry(name, str(url.child(name)), is_folder, is_remote=True) for name, is_folder in names]


def runs_in_order(folder: str | Path, argument: Argument) -> list[dict[str, Any]]:
    """The runs of :func:`list_runs`; raises ``OptionError`` if some store when they began and others do not."""
    runs, place = list_runs(folder).to_pylist(), shown_address(folder)
    untimed = [run["file"] for run in runs if run["began"] is None]
    if untimed and len(untimed) < len(runs):
        raise OptionError(
            argument,
            f": {untimed[0]} in {place} does not store when it began, others do; score it with --times, or name a run",
        )
    return runs


def latest_run(folder: Any) -> tuple[str, str]:
    """The last run of a folder, in the order of ``list_runs``, and a note on how it was chosen.

    Raises ``OptionError`` if there is no run, or if only some of the runs store their start, so that their order is
    unknown.
    """
    argument = Argument("latest", True)
    if not isinstance(folder, str | Path):
        raise OptionError(argument, ": expected the path of a folder of runs")
    runs, place = runs_in_order(folder, argument), shown_address(folder)
    if not runs:
        raise OptionError(argument, f": {place} holds no output of a run")
    last = runs[-1]
    by_name = "by file name, since no run stores when it began (score --times)"
    order = by_name if last["began"] is None else f"began {last['began']}"
    return within(folder, last["file"]), f"{last['file']} is the last of {len(runs):,} runs in {place}, {order}"


def mean_of_runs(folder: Any, last: int, but: Any, began: str | None, allow: bool) -> tuple[ScoreTable, list[str]]:
    """The last runs of a folder as one run with an answer of each to every question, and notes on them.

    Of a run ``but`` in the folder, they are those before it, in the order of :func:`list_runs`; of another one, those
    that began before it, if this is stored.  The columns are those that all of them have.  Raises ``OptionError`` for
    anything but the path of a folder of earlier runs, for runs whose order is unknown, and, unless ``allow``, for runs
    with different settings.
    """
    if not isinstance(folder, str | Path):
        raise OptionError(Argument("last", last), ": expected the path of a folder of runs as the baseline")
    listed = runs_in_order(folder, Argument("last", last))
    files = [within(folder, run["file"]) for run in listed]
    own = os.path.abspath(as_local(but)) if isinstance(but, str | Path) else None
    same = [at for at, file in enumerate(files) if os.path.abspath(as_local(file)) == own]
    later = [at for at, run in enumerate(listed) if began is not None and (run["began"] or "") >= began]
    place = min([*(same or later), len(files)])
    files = files[:place][-last:]
    if not files:
        earlier = "earlier" if place < len(listed) else "other"
        raise OptionError(Argument("last", last), f": {shown_address(folder)} holds no {earlier} output of a run")
    runs = [open_scores(file) for file in files]
    columns = [name for name in runs[-1].columns if all(name in run.columns for run in runs)]
    of_runs = [name for name in roles(columns)["setting"] if all(_is_constant(run, name) for run in runs)]
    columns = [name for name in columns if name not in of_runs]  # they would tell the runs apart
    scores = [name for name in runs[-1].scores if all(name in run.scores for run in runs)]
    numbered = runs[-1].repeat_column or "repeat"

    def read(names: Sequence[str]) -> pa.Table:
        tables = []
        for place, run in enumerate(runs):
            table = run.read([name for name in names if name != numbered])
            if numbered in names:
                has = numbered in run.columns
                own = run.read([numbered]).column(0).to_pylist() if has else [0] * run.read([]).num_rows
                table = table.append_column(numbered, pa.array([f"{place}/{number}" for number in own]))
            tables.append(table.select(names).replace_schema_metadata())
        return pa.concat_tables(tables, promote_options="permissive")

    of = runs[-1].metadata
    metadata = ScoreMetadata(version=of.version, unicode=of.unicode, scores=of.scores, declared=of.declared)
    name = f"the last {len(runs):,} runs of {shown_address(folder)}" if len(runs) > 1 else runs[0].name
    together = ScoreTable(
        name, list(dict.fromkeys([*columns, numbered])), scores, metadata, runs[-1].declared, read, is_part=True
    )
    notes = check_settings(runs, scores, allow)
    order = "by file name" if listed[0]["began"] is None else "by their start"
    return together, [f"the baseline is the mean of {', '.join(run.name for run in runs)} ({order})", *notes]


def _is_constant(run: ScoreTable, name: str) -> bool:
    """Whether a column has one value."""
    return bool(pc.count_distinct(run.column(name), mode="all").as_py() <= 1)


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

    def grids(self) -> list[Grid]:
        """The runs, first to last."""
        values = [value for run in self.runs for value in (run.low, run.high, run.mean) if not math.isnan(value)]
        drawn = partial(_drawn, least=min(values, default=0.0), most=max(values, default=0.0))
        began = ("began", lambda run: (run.began or "–")[:16])
        columns = (("run", _name), began, "n", (self.metric, "mean"), ("interval", lambda run: run), ("", drawn))
        return [lines_of(self.runs, *columns)]

    def remarks(self) -> Sequence[str]:
        """The kind of intervals, and the runs with different rows."""
        return said(
            interval_notes(self.record(), self.confidence),
            len(self) > 1 and Note("first_to_last", line=sparkline(run.mean for run in self.runs)),
            any(run.other_rows for run in self.runs) and Note("other_rows"),
        )

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


def trend(
    folder: Annotated[str | Path, Help("A folder of outputs, or its address.")],
    metric: shared.Metric,
    *,
    cluster: shared.Cluster = None,
    confidence: shared.Confidence = 0.95,
) -> Trend:
    """The mean of a metric with its interval for each run in a folder, or at an address, in ``fm.results.list_runs``'s
    order.

    Runs without the metric are omitted.  Runs without times (``score
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

    Raises ``UnknownNameError`` if no run has the metric, and the errors of ``fm.results.list_runs``.
    """
    argument("metric", metric, LimitedText(what="a name"))
    runs = list_runs(folder).to_pylist()
    columns = {run["file"]: column_named(metric, run["metrics"]) for run in runs}
    having = [run for run in runs if columns[run["file"]] in run["metrics"]]
    if not having:
        metrics = dict.fromkeys(name for run in runs for name in run["metrics"])
        raise UnknownNameError(
            f"{shown_address(folder)}: no run has it: ", UnknownNameError.of("metric", metric, metrics).message
        )
    points: list[TrendPoint] = []
    for before, run in zip([None, *having], having, strict=False):
        file, name = run["file"], columns[run["file"]]
        mean = summarize_by(within(folder, file), metrics=[name], cluster=cluster, confidence=confidence)[0]
        figures = {key: getattr(mean, key) for key in ("n", "mean", "low", "high", "interval", "interval_note")}
        other = None if before is None else _other_rows(before, run)
        points.append(TrendPoint(file, run["name"], run["began"], **figures, other_rows=other))
    return Trend(columns[having[0]["file"]], points, confidence)


def _other_rows(before: dict[str, Any], run: dict[str, Any]) -> bool | None:
    """Whether two runs scored different rows, by the fingerprints that both have."""
    keys = [key for key in ("ids", "questions") if before[key] is not None and run[key] is not None]
    return any(before[key] != run[key] for key in keys) if keys else None
