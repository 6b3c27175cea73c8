"""Folders of runs: their list, the last of them, and the mean of the last.

A file that cannot be read ends the call, or with ``skip_unreadable`` is left out and named.  Of a run that is left out
nobody knows when it began, so the last run is only known if the name of such a file tells that it is an earlier one, or
if it was written before the last one began.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.column_names import roles
from fastmetrics.base.errors import Argument, FileFormatError, OptionError
from fastmetrics.base.notes import Note
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.results.aligned_scores import check_settings
from fastmetrics.results.opening_scores import metadata_of, open_scores
from fastmetrics.results.score_columns import column_named
from fastmetrics.results.score_table import ScoreTable
from fastmetrics.tables.addresses import WORK_SUFFIX, Url, as_local, is_url, last_name, parse, shown_address, within
from fastmetrics.tables.formats import FORMATS, without_suffix
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
        *((name, pa.string()) for name in ("ids", "questions", "inputs", "unreadable")),
    ]
)


def list_runs(folder: str | Path, *, skip_unreadable: shared.SkipUnreadable = False) -> pa.Table:
    """The outputs of runs in a folder or at an address, one per row, sorted by start time and then by name.

    Columns: ``file`` (its name in the folder; may be a folder of parts), ``name``, ``began`` and ``ended`` (null unless
    the run stored them), ``rows``, ``metrics``, the fingerprints ``ids`` and ``questions``, and the ``inputs`` with
    their sizes.  Runs with the same fingerprint scored the same rows, in any order.  Files that are not outputs of a
    run are ignored.  With ``skip_unreadable``, files that cannot be read come first, with the cause as ``unreadable``.

    >>> import fastmetrics as fm
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"id": 1, "answer": "in Paris"}')
    >>> _ = fm.score(folder / "rows.jsonl", "answer_words", output=folder / "scores.parquet", name="first")
    >>> fm.results.list_runs(folder).select(["file", "name", "rows"]).to_pylist()
    [{'file': 'scores.parquet', 'name': 'first', 'rows': 1}]

    Raises ``FileFormatError`` for a folder that cannot be read, and without ``skip_unreadable`` for such a file in it.
    """
    if not isinstance(folder, str | Path):
        raise OptionError(Argument("folder", folder), ": expected the path or the address of a folder")
    listed = _behind(parse(as_local(folder))) if is_url(as_local(folder)) else _on_disk(as_local(folder))
    runs, unreadable = [], []
    for (name, path, *_), metadata in zip(listed, side_by_side(_Entry.seen, listed), strict=True):
        if isinstance(metadata, FileFormatError):
            unreadable.append({"file": name, "unreadable": left_out(path, metadata, skip_unreadable).values["cause"]})
        elif metadata is not None and metadata.metrics is not None:
            prints = metadata.fingerprint or {}
            rows = max((counts.n_rows for counts in metadata.metrics.values()), default=0)
            metrics = list(metadata.metrics if metadata.scores is None else metadata.scores)
            keys = (prints.get("ids"), prints.get("questions"), described_inputs(metadata.inputs))
            runs.append((name, metadata.name, metadata.began, metadata.ended, rows, metrics, *keys))
    runs.sort(key=lambda run: (run[2] is None, run[2] or "", in_order(run[0])))
    readable = [dict(zip(SCHEMA.names[:-1], run, strict=True)) for run in runs]
    return pa.Table.from_pylist([*unreadable, *readable], SCHEMA)


def left_out(path: str, error: FileFormatError, skip: bool) -> Note:
    """The note on a run that cannot be read; raises the error, with what to do, unless such runs are left out."""
    if not skip:
        raise FileFormatError(error.message, "; leave it out with ", Argument("skip_unreadable", True)) from error
    shown = shown_address(path)
    return Note("unreadable_run", file=shown, cause=str(error).removeprefix(f"{shown}: "))


class _Entry(NamedTuple):
    """A file or folder in a folder of runs."""

    name: str
    path: str
    is_folder: bool
    is_remote: bool

    def seen(self) -> ScoreMetadata | FileFormatError | None:
        """The metadata of an output, or why they cannot be read; None for anything else."""
        try:
            return self.metadata()
        except FileFormatError as error:
            return error

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


def readable_runs(folder: str | Path, skip: bool) -> tuple[list[dict[str, Any]], list[Note]]:
    """The runs of :func:`list_runs` that can be read, and a note on each file that cannot, if such are left out."""
    runs = list_runs(folder, skip_unreadable=skip).to_pylist()
    skipped = [run for run in runs if run["unreadable"] is not None]
    notes = [Note("unreadable_run", file=_shown(folder, run), cause=run["unreadable"]) for run in skipped]
    return runs[len(notes) :], notes


def _shown(folder: str | Path, run: dict[str, Any]) -> str:
    return shown_address(within(folder, run["file"]))


def runs_in_order(folder: str | Path, argument: Argument, skip: bool) -> tuple[list[dict[str, Any]], list[Note]]:
    """The readable runs; raises ``OptionError`` if some store when they began and others do not."""
    (runs, notes), place = readable_runs(folder, skip), shown_address(folder)
    untimed = [run["file"] for run in runs if run["began"] is None]
    if untimed and len(untimed) < len(runs):
        raise OptionError(
            argument,
            f": {untimed[0]} in {place} does not store when it began, others do; score it with --times, or name a run",
        )
    return runs, notes


def latest_run(folder: Any, skip: bool = False) -> tuple[str, list[str]]:
    """The last run of a folder, in the order of ``list_runs``, and notes on how it was chosen.

    Raises ``OptionError`` if there is no run, or if only some of the runs store their start, so that their order is
    unknown, and ``FileFormatError`` if a file that is left out may be the last run.
    """
    argument = Argument("latest", True)
    if not isinstance(folder, str | Path):
        raise OptionError(argument, ": expected the path of a folder of runs")
    (runs, notes), place = runs_in_order(folder, argument, skip), shown_address(folder)
    if not runs:
        raise OptionError(argument, f": {place} holds no output of a run")
    last, earlier = runs[-1], check_is_last(runs, notes)
    by_name = "by file name, since no run stores when it began (score --times)"
    order = by_name if last["began"] is None else f"began {last['began']}"
    chosen = f"{last['file']} is the last of {len(runs):,} runs in {place}, {order}"
    return within(folder, last["file"]), [chosen, *notes, *earlier]


def check_is_last(
    runs: Sequence[Mapping[str, Any]], skipped: Sequence[Note], way: str = ", or name the run to check"
) -> list[str]:
    """How it is known that each file that is left out is an earlier run than the last of these.

    Raises ``FileFormatError`` if one may be later.  Where the names of the runs have the order of their starts, or
    no run stores it, the names tell; otherwise the file is an earlier run if it was written before the last one began,
    which a copy of the folder does not keep.  ``way`` is what to do besides moving the file away.
    """
    last, names = runs[-1], [run["file"] for run in runs]
    by_name = last["began"] is None or names == sorted(names, key=in_order)
    for note in skipped:
        file, cause = note.values["file"], note.values["cause"]
        name = last_name(file)
        if by_name:
            is_later, why = in_order(name) > in_order(last["file"]), f"its name is after {last['file']}"
        else:
            try:
                written = os.stat(as_local(file)).st_mtime
            except OSError:  # at an address
                written = math.inf
            is_later = written >= datetime.fromisoformat(last["began"]).timestamp()
            why = f"the names do not have the order of the starts, and it was not written before {last['began']}"
        if is_later:
            raise FileFormatError(f"{file}: {cause}; it may be the last run, as {why}: move it away{way}")
    return [f"what is left out is earlier by {'its name' if by_name else 'the time of the file'}"] if skipped else []


def in_order(name: str) -> list[tuple[bool, int, str]]:
    """The key by which names are sorted as people count: ``run-9`` before ``run-10``.

    >>> sorted(["run-10.csv", "run-9.csv", "run.csv"], key=in_order)
    ['run.csv', 'run-9.csv', 'run-10.csv']
    """
    parts = re.split(r"(\d+)", without_suffix(name))
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


def mean_of_runs(
    folder: Any,
    last: int,
    but: Any,
    began: str | None,
    *,
    allow: bool,
    skip: bool,
    having: str | None = None,
    asked: Sequence[str] = (),
) -> tuple[ScoreTable, list[str]]:
    """The last runs of a folder as one run with an answer of each to every question, and notes on them.

    Of a run ``but`` in the folder, they are those before it, in the order of :func:`list_runs`; of another one, those
    that began before it, if this is stored.  The columns are those that all of them have; ``having`` a metric leaves
    the runs without it out.  Raises ``OptionError`` for anything but the path of a folder of earlier runs, for runs
    whose order is unknown, and, unless ``allow``, for runs with different settings.
    """
    if not isinstance(folder, str | Path):
        raise OptionError(Argument("last", last), ": expected the path of a folder of runs as the baseline")
    listed, skipped = runs_in_order(folder, Argument("last", last), skip)
    listed = [run for run in listed if having is None or column_named(having, run["metrics"]) in run["metrics"]]
    files = [within(folder, run["file"]) for run in listed]
    own = os.path.abspath(as_local(but)) if isinstance(but, str | Path) else None
    same = [at for at, file in enumerate(files) if os.path.abspath(as_local(file)) == own]
    later = [at for at, run in enumerate(listed) if began is not None and (run["began"] or "") >= began]
    place = min([*(same or later), len(files)])
    runs: list[ScoreTable] = []
    for file in reversed(files[:place]):
        try:
            run = open_scores(file, asked=asked)
            if skip:
                run.read(run.columns)  # whether all of it can be read
            runs = [run, *runs][:last]
        except FileFormatError as error:
            skipped.append(left_out(file, error, skip))
        if len(runs) == last:
            break
    if not runs:
        earlier = "earlier" if place < len(listed) else "other"
        raise OptionError(Argument("last", last), f": {shown_address(folder)} holds no {earlier} output of a run")
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
    metadata = ScoreMetadata(
        version=of.version,
        unicode=of.unicode,
        scores=of.scores,
        declared=of.declared,
        missing_by_ranking=of.missing_by_ranking,
    )
    name = f"the last {len(runs):,} runs of {shown_address(folder)}" if len(runs) > 1 else runs[0].name
    together = ScoreTable(
        name, list(dict.fromkeys([*columns, numbered])), scores, metadata, runs[-1].declared, read, is_part=True
    )
    notes = check_settings(runs, scores, allow)
    order = "by file name" if listed[0]["began"] is None else "by their start"
    return together, [f"the baseline is the mean of {', '.join(run.name for run in runs)} ({order})", *skipped, *notes]


def _is_constant(run: ScoreTable, name: str) -> bool:
    """Whether a column has one value."""
    return bool(pc.count_distinct(run.column(name), mode="all").as_py() <= 1)
