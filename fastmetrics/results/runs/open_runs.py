"""Opening runs in any form: score files, tables, results, or one table whose column names the systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.columns import is_column
from fastmetrics.base.errors import Argument, FileFormatError, InputError, OptionError, UnknownNameError
from fastmetrics.base.frames import open_frame
from fastmetrics.base.input_columns import is_id
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.results.runs.declared_metrics import with_score_types
from fastmetrics.results.runs.score_file import ScoreFile, check_one, stored_scores
from fastmetrics.results.runs.score_run import ScoreRun
from fastmetrics.stats.summed_scores import score_columns
from fastmetrics.tables.addresses import last_name
from fastmetrics.tables.csv_files import as_it_looks
from fastmetrics.tables.sources import is_paths
from fastmetrics.tables.table_rows import read_in_turn

_BOTH = (Argument("baseline"), " and ", Argument("other"))
_FEW = 6
"""Maximum number of columns of a Parquet file to read at once."""


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


def two_runs(runs: Sequence[ScoreRun], baseline: str | None, other: str | None) -> tuple[ScoreRun, ScoreRun]:
    """The baseline and the compared run: by name, or the first and the second of two.

    Raises ``UnknownNameError`` for an unknown name, ``OptionError`` if names are needed to choose.
    """
    by_name = {run.name: run for run in runs}
    for name in (baseline, other):
        if name is not None and name not in by_name:
            raise UnknownNameError.of("run", name, list(by_name))
    first = by_name[baseline] if baseline is not None else next(run for run in runs if run.name != other)
    left = [run for run in runs if run is not first]
    if other is None and len(left) > 1:
        names = ", ".join(run.name for run in left)
        raise OptionError(f"there are {len(runs)} runs; choose two of them with ", *_BOTH, f": {first.name}, {names}")
    second = by_name[other] if other is not None else left[0]
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
    run_name = name or metadata.name or last_name(file.name)
    reader = _reader(file)
    names = file.source.schema.names
    types = None
    if _is_by_column(file):
        schema = file.source.select(_kinds(file, names)).schema
        types = dict(zip(schema.names, schema.types, strict=True))
    return ScoreRun(run_name, names, list(file.scores), metadata, reader, file, types)


def _reader(file: ScoreFile) -> Callable[[Sequence[str]], pa.Table]:
    """A reader of some columns of a file: scores as numbers, others unchanged (in CSV without types, as they look)."""
    plain, few = not file.source.has_types, _FEW if _is_by_column(file) else len(file.source.schema)

    def read(names: Sequence[str]) -> pa.Table:
        table = read_in_turn(file.source, _kinds(file, names), few)
        for at, name in enumerate(table.column_names):
            if plain and name not in file.scores and not is_id(name):
                table = table.set_column(at, name, as_it_looks(table.column(at)))
        return table

    return read


def _kinds(file: ScoreFile, names: Sequence[str]) -> dict[str, str]:
    """The kind of each column: scores are numbers or flags."""
    flags = {field.name for field in file.source.schema if pa.types.is_boolean(field.type)}
    return {name: "any" if name not in file.scores else "flag" if name in flags else "number" for name in names}


def _is_by_column(file: ScoreFile) -> bool:
    return {part.format for part in file.source.files} <= {"parquet"}


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
    scores = stored_scores(metadata) or score_columns(whole.schema)
    scores = [score for score in scores if score in whole.column_names]
    return ScoreRun(name, whole.column_names, scores, metadata, whole.select, table)


def _by_system(table: Any, system: str) -> list[ScoreRun]:
    """A run for each value of a column, in order of first occurrence."""
    whole = open_run(table)
    names = whole.column(system, "that names the systems").cast(pa.large_string())
    if names.null_count:
        row = int(np.flatnonzero(names.is_null().to_numpy(zero_copy_only=False))[0])
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
