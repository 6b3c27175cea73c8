"""Opening runs in any form: score files, tables, results, folders of runs, files as one table."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.column_names import is_id
from fastmetrics.base.columns import index_columns, is_column, open_frame, tells_rows, with_index
from fastmetrics.base.errors import (
    Argument,
    ColumnError,
    FileFormatError,
    InputError,
    OptionError,
    UnknownNameError,
    some,
)
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.results.score_file import (
    ScoreFile,
    check_bounds,
    check_one,
    declared_bounds,
    metadata_of,
    stored_declarations,
    stored_scores,
    with_score_types,
)
from fastmetrics.results.score_run import ScoreRun
from fastmetrics.stats.summed_scores import score_columns
from fastmetrics.tables.addresses import WORK_SUFFIX, Url, as_local, is_url, last_name, parse, shown_address, within
from fastmetrics.tables.csv_files import as_it_looks
from fastmetrics.tables.formats import FORMATS, without_suffix
from fastmetrics.tables.good_rows import read_in_turn
from fastmetrics.tables.input_files import reading
from fastmetrics.tables.opening import expand, is_paths
from fastmetrics.tables.outputs import RunDifference, described_inputs, differences
from fastmetrics.tables.remote_files import listing, look, missing, patiently, plainly, side_by_side, store

# Opening runs in any form: score files, tables, results, or one table whose column names the systems.


_BOTH = (Argument("baseline"), " and ", Argument("other"))
_FEW = 6
"""Maximum number of columns of a large Parquet file to read at once."""
_FEW_CELLS = 2_500_000
"""A table with this number of cells is read at once: its numbers take 20 MB."""


def open_runs(runs: Any, system: str | None = None, least: int = 2) -> list[ScoreRun]:
    """Runs in any form: paths and tables in a list or a dict, or one table whose column ``system`` names them.

    Two files with the same name are named by their paths.  Raises ``InputError`` for fewer than ``least`` runs.
    """
    if system is not None:
        opened = _by_system(runs, system)
    elif isinstance(runs, Mapping):
        opened = [open_run(run, str(name)) for name, run in runs.items()]
    elif isinstance(runs, Sequence) and not isinstance(runs, str | bytes):
        opened = [open_run(run, table=f"run {place}") for place, run in enumerate(runs, 1)]
    else:
        way = Argument("system")
        raise InputError("compare needs at least two runs: a list, a dict of names and runs, or one table with ", way)
    if not opened and least == 1:
        raise InputError("there are no runs")
    if len(opened) < least:
        raise InputError(f"a comparison needs at least two runs, got {'one' if opened else 'none'}")
    return _named_apart(opened)


def are_several(runs: Any) -> bool:
    """Whether these are several runs, in a list or by name in a dict, rather than one path or table.

    A dict of columns is one table, and so is a list of record batches or of rows: dicts that do not contain columns
    only.

    >>> table = {"id": [1, 2], "token_f1": [0.5, 1.0]}
    >>> are_several([table, table]), are_several({"old": table, "new": "new.parquet"}), are_several(table)
    (True, True, False)
    >>> are_several([{"id": 1, "token_f1": 0.5}])
    False
    """
    if isinstance(runs, Mapping):
        return bool(runs) and not any(map(is_column, runs.values()))
    if not isinstance(runs, list | tuple) or (runs and isinstance(runs[0], pa.RecordBatch)):
        return False
    return not runs or not isinstance(runs[0], Mapping) or all(map(is_column, runs[0].values()))


def run_of(runs: Sequence[ScoreRun], wanted: Any) -> ScoreRun | None:
    """The run of this name, or of the file at this path; None if it is none of them."""
    if not isinstance(wanted, str | Path):
        return None
    file = shown_address(as_local(wanted))
    return next(
        (run for run in runs if str(wanted) == run.name or (run.file is not None and run.file.name == file)), None
    )


def two_runs(runs: Sequence[ScoreRun], baseline: str | None, other: str | None) -> tuple[ScoreRun, ScoreRun]:
    """The baseline and the compared run: by name or file, or the first and the second of two.

    Raises ``UnknownNameError`` for an unknown name, ``OptionError`` if names are needed to choose.
    """
    named, second = (None if wanted is None else run_of(runs, wanted) for wanted in (baseline, other))
    for wanted, found in ((baseline, named), (other, second)):
        if wanted is not None and found is None:
            raise UnknownNameError.of("run", wanted, [run.name for run in runs])
    first = named or next(run for run in runs if run is not second)
    left = [run for run in runs if run is not first]
    if other is None and len(left) > 1:
        names = ", ".join(run.name for run in left)
        raise OptionError(f"there are {len(runs)} runs; choose two of them with ", *_BOTH, f": {first.name}, {names}")
    second = second or left[0]
    if second is first:
        raise OptionError(Argument("other", other), ": this run is the baseline; choose another run")
    return first, second


def open_run(run: Any, name: str | None = None, *, table: str = "run 1", latest: bool = False) -> ScoreRun:
    """One run in any form, under its own name or another ``name``; a table without one is called ``table``.

    Raises ``OptionError`` for several runs; ``latest`` says whether the caller can take the last one.
    """
    if isinstance(run, ScoreRun):
        return replace(run, name=name or run.name)
    if is_paths(run):
        if not isinstance(run, str | Path):
            raise InputError(f"{table}: expected one run, got {len(run)} paths; name them by a folder or a pattern")
        file = ScoreFile.open(run)
        check_one(file, latest=latest)
        return run_of_file(file, name)
    return _of_table(getattr(run, "per_query", run), name or table)


def run_of_file(file: ScoreFile, name: str | None = None) -> ScoreRun:
    """The run in an opened score file, by default under the name in its metadata or that of the file."""
    metadata = file.metadata or ScoreMetadata()
    run_name = name or metadata.name or without_suffix(last_name(file.name))
    reader = _reader(file)
    names = file.source.schema.names
    types = None
    if _is_by_column(file):
        schema = file.source.select(file.kinds(names)).schema
        types = dict(zip(schema.names, schema.types, strict=True))
    scores = list(file.scores)
    return ScoreRun(run_name, names, scores, metadata, _within_bounds(reader, run_name, scores, metadata), file, types)


def _reader(file: ScoreFile) -> Callable[[Sequence[str]], pa.Table]:
    """A reader of some columns of a file: scores as numbers, others unchanged (in CSV without types, as they look)."""
    plain, few = not file.source.has_types, _FEW if _is_by_column(file) else len(file.source.schema)

    def read(names: Sequence[str]) -> pa.Table:
        table = read_in_turn(file.source, file.kinds(names), few)
        for at, name in enumerate(table.column_names):
            if plain and (name not in file.scores or name in file.looks) and not is_id(name):
                table = table.set_column(at, name, as_it_looks(table.column(at), comma=file.source.has_decimal_comma))
        return table

    return read


def _is_by_column(file: ScoreFile) -> bool:
    """Whether columns are read one by one: those of Parquet, unless all together are small."""
    cells = math.inf if file.source.rows is None else file.source.rows * len(file.source.schema)
    return cells > _FEW_CELLS and {part.format for part in file.source.files} <= {"parquet"}


def _of_table(table: Any, name: str) -> ScoreRun:
    frame = open_frame(table, name)
    metadata = ScoreMetadata()
    if isinstance(table, pa.Table | pa.RecordBatch):
        try:
            metadata = ScoreMetadata.of_schema(table.schema)
        except FileFormatError as error:
            raise FileFormatError(f"{name}: {error}") from error

    def read(names: Sequence[str]) -> pa.Table:
        return pa.concat_tables(frame.read(names)[1])

    whole = with_score_types(read(list(dict.fromkeys(frame.names))))
    if frame.index is not None and tells_rows(frame.index):
        try:
            whole = with_index(whole, frame.index)
        except ColumnError:  # labels of several types
            whole = with_index(whole, frame.index.map(str))
    scores = stored_scores(metadata) or score_columns(whole.schema)
    scores = [score for score in scores if score in whole.column_names]
    index = tuple(sorted(index_columns(whole.schema)))
    reader = _within_bounds(whole.select, name, scores, metadata)
    return ScoreRun(name, whole.column_names, scores, metadata, reader, table, index=index)


def _within_bounds(
    read: Callable[[Sequence[str]], pa.Table], run: str, scores: Sequence[str], metadata: ScoreMetadata
) -> Callable[[Sequence[str]], pa.Table]:
    """A reader that checks each column of scores once: its values lie within the bounds that its metric declares.

    The reader raises ``InputError`` for a score outside them: a mean, an interval or a rule would be of another scale.
    """
    bounds = declared_bounds(scores, stored_declarations(metadata))

    def checked(names: Sequence[str]) -> pa.Table:
        table = read(names)
        for name in bounds.keys() & set(names):
            check_bounds(table.column(name), name, bounds.pop(name), 0, run)
        return table

    return checked


def _by_system(table: Any, system: str) -> list[ScoreRun]:
    """A run for each value of a column, in order of first occurrence."""
    whole = open_run(table)
    column = whole.column(system, "that names the systems")
    if pa.types.is_nested(column.type):
        raise ColumnError(f"column {system!r} holds {column.type}, which cannot name systems")
    names, missing = column.cast(pa.large_string()), column.is_null(nan_is_null=True)
    if pc.any(missing).as_py():
        row = int(np.flatnonzero(missing.to_numpy(zero_copy_only=False))[0])
        raise InputError(f"column {system!r}, row {row}: the system is missing (null)")

    def reader(rows: pa.Array) -> Callable[[Sequence[str]], pa.Table]:
        return lambda columns: whole.read(columns).filter(rows)

    def metadata(name: str) -> ScoreMetadata:
        """The metadata with the missing queries of one ranking, since those of the whole table are the sum of all."""
        return replace(whole.metadata, missing_queries=(whole.metadata.missing_by_ranking or {}).get(name))

    scores = [name for name in whole.scores if name != system]
    return [
        ScoreRun(name, whole.columns, scores, metadata(name), reader(pc.equal(names, name)))
        for name in pc.unique(names).to_pylist()
    ]


def _named_apart(runs: Sequence[ScoreRun]) -> list[ScoreRun]:
    """Files with the same name are named by their paths, and remaining duplicates are numbered."""
    counts = Counter(run.name for run in runs)
    renamed = [replace(run, name=run.file.name) if counts[run.name] > 1 and run.file else run for run in runs]
    seen: Counter[str] = Counter()
    numbered = []
    for run in renamed:
        seen[run.name] += 1
        numbered.append(run if seen[run.name] == 1 else replace(run, name=f"{run.name} ({seen[run.name]})"))
    return numbered


# Score files as one table of scores: their batches, and notes on the files and the differences between their runs.


_MOST_NOTED = 5
"""Maximum number of files and differences in a note."""


class PooledFiles:
    """Opened score files as one table."""

    def __init__(self, files: Sequence[ScoreFile]) -> None:
        self._files = files
        self._rows = [0] * len(files)

    @classmethod
    def open(cls, paths: str | Path | Sequence[str | Path]) -> PooledFiles:
        """One or several score files, folders or patterns."""
        each = [paths] if isinstance(paths, str | Path) else list(paths)
        return cls([file for path in each for file in ScoreFile.open_all(path)])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The scores of all files, each batch with the metadata of its file; can be called repeatedly."""
        for place, file in enumerate(self._files):
            self._rows[place] = 0
            for batch in file.batches():
                self._rows[place] += batch.num_rows
                yield batch

    @property
    def columns_read(self) -> tuple[Mapping[str, str], Mapping[str, Sequence[str]]]:
        """The scored and the ignored columns, if all files have the same."""
        first = self._files[0].columns_read
        return first if all(file.columns_read == first for file in self._files) else ({}, {})

    @property
    def notes(self) -> list[str]:
        """The notes on several files, after their rows were read."""
        return _pooled(self._files, self._rows) if len(self._files) > 1 else []


def _pooled(files: Sequence[ScoreFile], rows: Sequence[int]) -> list[str]:
    """The note on the pooled files, and on differences between their settings."""
    described = [f"{file.name} ({count:,} rows)" for file, count in zip(files, rows, strict=True)]
    notes = [f"{len(files):,} files pooled: {some(described, _MOST_NOTED)}"]
    with_settings = [file for file in files if file.settings]
    where: dict[RunDifference, list[str]] = {}
    for file in with_settings[1:]:
        for difference in differences(with_settings[0].settings, file.settings):
            where.setdefault(difference, []).append(file.name)
    notes += [
        f"{what} is {a} in {with_settings[0].name}, {b} in {some(names, _MOST_NOTED)}"
        for (what, a, b), names in where.items()
    ][:_MOST_NOTED]
    notes += [f"{len(where) - _MOST_NOTED:,} more differences in settings"] if len(where) > _MOST_NOTED else []
    notes += _inputs(files)
    unknown = [file.name for file in files if not file.settings]
    return [*notes, *([f"unknown settings: {some(unknown, _MOST_NOTED)}"] if with_settings and unknown else [])]


def _inputs(files: Sequence[ScoreFile]) -> list[str]:
    """The notes on files with different inputs, and on files with the same input, from their metadata."""
    by_inputs: dict[str, list[str]] = {}
    for file in files:
        inputs = described_inputs(None if file.metadata is None else file.metadata.inputs)
        if inputs is not None:
            by_inputs.setdefault(inputs, []).append(file.name)
    pairs = [f"{some(names, _MOST_NOTED)} from {inputs}" for inputs, names in by_inputs.items()]
    notes = [f"different inputs: {some(pairs, _MOST_NOTED, '; ')}"] if len(by_inputs) > 1 else []
    again = "files from the same input (by name and size); its rows are counted repeatedly"
    several = {inputs: names for inputs, names in by_inputs.items() if len(names) > 1}
    notes += [f"{again}: {some(names, _MOST_NOTED)} from {inputs}" for inputs, names in several.items()][:_MOST_NOTED]
    return notes


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
    runs = [_run(name, metadata) for name, metadata in _outputs(as_local(folder))]
    runs.sort(key=lambda run: (run["began"] is None, run["began"] or "", run["file"]))
    return pa.Table.from_pylist(runs, SCHEMA)


@dataclass(frozen=True)
class _Entry:
    """A file or folder in a folder of runs."""

    name: str
    path: str
    is_folder: bool
    is_remote: bool

    def metadata(self) -> ScoreMetadata | None:
        """The metadata of an output; None for anything else."""
        if self.is_folder:
            return None if self.name.endswith(WORK_SUFFIX) else metadata_of(self.path)
        if not self.name.endswith(tuple(suffix for format in FORMATS.values() for suffix in format.suffixes)):
            return None
        return metadata_of(self.path, expand(self.path))


def _outputs(folder: str) -> Iterator[tuple[str, ScoreMetadata]]:
    """The entries of a folder that are outputs of runs, with their metadata."""
    entries = _behind(parse(folder)) if is_url(folder) else _on_disk(folder)
    for entry, metadata in zip(entries, side_by_side(_Entry.metadata, entries), strict=True):
        if metadata is not None and metadata.metrics is not None:
            yield entry.name, metadata


def _on_disk(folder: str) -> list[_Entry]:
    with reading(folder):
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    return [
        _Entry(entry.name, entry.path, entry.is_dir(), is_remote=False)
        for entry in entries
        if entry.is_dir() or entry.is_file()
    ]


def _behind(url: Url) -> list[_Entry]:
    with reading(url.shown), plainly():
        place = store(url)
        files, folders = patiently(lambda: listing(place, deep=False))
        if not (files or folders or look(place).type.name == "Directory"):
            raise FileFormatError(f"{url.shown}: cannot be read: {missing(place)}")
    names = sorted([(name, False) for name in files] + [(name, True) for name in folders])
    return [_Entry(name, str(url.child(name)), is_folder, is_remote=True) for name, is_folder in names]


def _run(file: str, metadata: ScoreMetadata) -> dict[str, Any]:
    """The metadata of a run."""
    metrics, prints = metadata.metrics or {}, metadata.fingerprint or {}
    return {
        "file": file,
        "name": metadata.name,
        "began": metadata.began,
        "ended": metadata.ended,
        "rows": max((counts.n_rows for counts in metrics.values()), default=0),
        "metrics": list(metrics if metadata.scores is None else metadata.scores),
        "ids": prints.get("ids"),
        "questions": prints.get("questions"),
        "inputs": described_inputs(metadata.inputs),
    }


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
