"""Runs for comparison: score files and tables in one form, with ids, scores and other columns for each row."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Flags, Floats, Ints
from fastmetrics.core.column_kinds import is_text
from fastmetrics.core.columns import as_array, as_numbers, is_column
from fastmetrics.core.corpus_counts import METADATA, counts_column
from fastmetrics.core.frames import open_frame
from fastmetrics.core.input_columns import COLUMNS, is_id, is_repeat
from fastmetrics.core.missing_queries import MissingQueries
from fastmetrics.errors import ColumnError, InputError, OptionError, UnknownNameError
from fastmetrics.errors.messages import Argument
from fastmetrics.plan.corpus_values import is_counted
from fastmetrics.plan.declared import KEY, Declared
from fastmetrics.results.declared_metrics import stored_declarations
from fastmetrics.results.one_run import check_one
from fastmetrics.results.score_files import ScoreFile, said_scores
from fastmetrics.stats.score_sums import score_columns
from fastmetrics.tables.remote.addresses import last_name
from fastmetrics.tables.text_columns import as_it_looks
from fastmetrics.tables.whole_table import read_in_turn

_BOTH = (Argument("baseline"), " and ", Argument("other"))
_FEW = 6
"""Maximum number of columns of a Parquet file to read at once."""
QUESTION = ("question", *COLUMNS["question"].aliases)


@dataclass(frozen=True)
class ScoreRun:
    """The scores of one system: ``columns`` are the available columns, ``read`` returns some of them as a table."""

    name: str
    columns: Sequence[str]
    scores: Sequence[str]
    metadata: Mapping[str, Any]
    read: Callable[[Sequence[str]], pa.Table]
    path: str | None = None
    checked: dict[str, pa.Array] = field(default_factory=dict, repr=False, compare=False)
    """Id columns that were checked, shared by the run and its copies with the same rows."""

    @property
    def id_column(self) -> str | None:
        """The column with the ids, if there is one."""
        return next((name for name in self.columns if is_id(name)), None)

    @property
    def question_column(self) -> str | None:
        """The column with the questions, if the run kept it."""
        return next((name for name in self.columns if name.lower() in QUESTION), None)

    @property
    def repeat_column(self) -> str | None:
        """The column that numbers several answers to one question, if there is one."""
        return next((name for name in self.columns if is_repeat(name)), None)

    @property
    def missing_queries(self) -> MissingQueries | None:
        """The judged queries that the run lacks, if it is an evaluated run."""
        return MissingQueries.of(self.metadata)

    @cached_property
    def declared(self) -> dict[str, Declared]:
        """The stored declarations of its scores, where their names do not tell them."""
        return stored_declarations(self.metadata)

    def spec(self, name: str) -> str:
        """The metric of a score with its options."""
        return self.declared[name].spec if name in self.declared else name

    def held(self, names: Sequence[str]) -> ScoreRun:
        """The run with these columns in memory, read at once."""
        wanted = [name for name in dict.fromkeys(names) if name in self.columns]
        return replace(self, read=self.read(wanted).select)

    def settings(self, metrics: Sequence[str]) -> dict[str, Any]:
        """The versions and options of these metrics, from the metadata."""
        said = self.metadata.get("scores")
        scores = {name: said[name] for name in metrics if name in said} if isinstance(said, Mapping) else None
        known = {key: self.metadata[key] for key in ("fastmetrics", "unicode") if key in self.metadata}
        stored = self.metadata.get(KEY, {})
        declared = {name: one.to_json() for name, one in self.declared.items() if name in metrics and name in stored}
        return {**known, **({"scores": scores} if scores is not None else {}), **({KEY: declared} if declared else {})}

    def column(self, name: str, purpose: str) -> pa.Array:
        """One column; raises a ``ColumnError`` that states its purpose."""
        if name not in self.columns:
            raise ColumnError(f"{self.name} has no column {name!r} {purpose}; it has {', '.join(self.columns)}")
        return as_array(self.read([name]).column(0), name)

    def values(self, name: str) -> Floats:
        """The scores of one metric, NaN without a score."""
        return as_numbers(self.read([name]).column(0))

    @property
    def counted(self) -> list[str]:
        """The corpus metrics for which the run stores the counts of rows."""
        ending = counts_column("")
        names = [name.removesuffix(ending) for name in self.columns if name.endswith(ending)]
        return [name for name in names if is_counted(self.spec(name))]

    def counts(self, metric: str) -> tuple[Ints, Flags]:
        """Each row's counts for a corpus metric, and whether the row was counted."""
        name = counts_column(metric)
        column = self.column(name, f"to compare {metric} by")
        listed = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
        listed = listed or pa.types.is_fixed_size_list(column.type)
        flat = column.flatten() if listed else None
        if pa.types.is_null(column.type) or (flat is not None and not len(flat)):
            return np.zeros((len(column), 0), np.int64), np.zeros(len(column), np.bool_)
        sizes = pc.unique(pc.list_value_length(column).drop_null()) if listed else []
        if flat is None or not pa.types.is_integer(flat.type) or flat.null_count or len(sizes) != 1:
            raise ColumnError(f"column {name!r} of {self.name} does not contain one list of integers per row")
        known = column.is_valid().to_numpy(zero_copy_only=False)
        found = np.zeros((len(column), sizes[0].as_py()), np.int64)
        found[known] = flat.to_numpy().reshape(-1, found.shape[1])
        return found, known

    def texts(self, name: str) -> pa.Array:
        """The ids as text; raises ``ColumnError`` for another type and ``InputError`` for a missing id."""
        ids = self.column(name, "to match rows by")
        if not (pa.types.is_integer(ids.type) or is_text(ids.type)):
            raise ColumnError(f"column {name!r} of {self.name} holds {ids.type}, not ids (text or integers)")
        if ids.null_count:
            row = int(np.flatnonzero(ids.is_null().to_numpy(zero_copy_only=False))[0])
            raise InputError(f"column {name!r} of {self.name}, row {row}: an id is missing (null)")
        return ids.cast(pa.large_string())

    def ids(self, name: str) -> pa.Array:
        """The ids as text; raises the errors of ``texts``, and ``InputError`` for a duplicate id."""
        if name in self.checked:
            return self.checked[name]
        ids = self.texts(name)
        if pc.count_distinct(ids).as_py() < len(ids):
            counts = pc.value_counts(ids)
            twice = counts.filter(pc.greater(counts.field("counts"), 1))
            first, count = twice[0]["values"].as_py(), twice[0]["counts"].as_py()
            others = f"; {len(twice) - 1:,} more ids are duplicates" if len(twice) > 1 else ""
            raise InputError(f"column {name!r} of {self.name}: the id {first!r} occurs in {count:,} rows{others}")
        pa.default_memory_pool().release_unused()
        self.checked[name] = ids
        return ids


def open_runs(runs: Any, system: str | None = None, least: int = 2) -> list[ScoreRun]:
    """Runs in any form: paths and tables in a list or a dict, or one table whose column ``system`` names them.

    Two files with the same name are named by their paths.  Raises ``InputError`` for fewer than ``least`` runs.
    """
    if system is not None:
        opened = _by_system(runs, system)
    elif isinstance(runs, Mapping):
        opened = [_open(one, str(name)) for name, one in runs.items()]
    elif isinstance(runs, Sequence) and not isinstance(runs, str | bytes):
        opened = [_open(one, None, place) for place, one in enumerate(runs, 1)]
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
    named = {run.name: run for run in runs}
    for name in (baseline, other):
        if name is not None and name not in named:
            raise UnknownNameError.of("run", name, list(named))
    first = named[baseline] if baseline is not None else next(run for run in runs if run.name != other)
    left = [run for run in runs if run is not first]
    if other is None and len(left) > 1:
        known = ", ".join(run.name for run in left)
        raise OptionError(f"there are {len(runs)} runs; choose two of them with ", *_BOTH, f": {first.name}, {known}")
    second = named[other] if other is not None else left[0]
    if second is first:
        raise OptionError(Argument("other", other), ": this run is the baseline; choose another run")
    return first, second


def open_run(run: Any) -> ScoreRun:
    """One run in any form."""
    return _open(run, None)


def _open(run: Any, name: str | None, place: int = 1) -> ScoreRun:
    if isinstance(run, ScoreRun):
        return replace(run, name=name or run.name)
    if isinstance(run, str | Path):
        file = ScoreFile.open(run)
        check_one(file)
        return _of_file(file, name)
    return _of_table(getattr(run, "per_query", run), name or f"run {place}")


def _of_file(file: ScoreFile, name: str | None) -> ScoreRun:
    metadata = file.metadata or {}
    said = metadata.get("name")
    called = name or (said if isinstance(said, str) and said else last_name(file.name))
    read = _reader(file)
    return ScoreRun(called, file.source.schema.names, list(file.scores), metadata, read, file.name)


def _reader(file: ScoreFile) -> Callable[[Sequence[str]], pa.Table]:
    """A reader of some columns of a file: scores as numbers, others unchanged (in CSV without types, as they look)."""
    flags = {field.name for field in file.source.schema if pa.types.is_boolean(field.type)}
    formats = {one.format for one in file.source.files}
    plain, few = not file.source.has_types, _FEW if formats <= {"parquet"} else len(file.source.schema)

    def read(names: Sequence[str]) -> pa.Table:
        kinds = {name: "any" if name not in file.scores else "flag" if name in flags else "number" for name in names}
        table = read_in_turn(file.source, kinds, few)
        for at, name in enumerate(table.column_names):
            if plain and name not in file.scores and not is_id(name):
                table = table.set_column(at, name, as_it_looks(table.column(at)))
        return table

    return read


def _of_table(table: Any, name: str) -> ScoreRun:
    frame = open_frame(table)
    metadata = (table.schema.metadata if isinstance(table, pa.Table | pa.RecordBatch) else None) or {}
    said = json.loads(metadata[METADATA]) if METADATA in metadata else {}

    def read(names: Sequence[str]) -> pa.Table:
        return pa.concat_tables(frame.read(names)[1])

    held = read(list(dict.fromkeys(frame.names)))
    scores = said_scores(said or None, name) or score_columns(held.schema)
    return ScoreRun(name, held.column_names, [one for one in scores if one in held.column_names], said, held.select)


def _by_system(table: Any, system: str) -> list[ScoreRun]:
    """A run for each value of a column, in order of first occurrence."""
    whole = open_run(table)
    names = whole.column(system, "that names the systems").cast(pa.large_string())
    if names.null_count:
        row = int(np.flatnonzero(names.is_null().to_numpy(zero_copy_only=False))[0])
        raise InputError(f"column {system!r}, row {row}: the system is missing (null)")

    def reader(rows: pa.Array) -> Callable[[Sequence[str]], pa.Table]:
        return lambda columns: whole.read(columns).filter(rows)

    scores = [name for name in whole.scores if name != system]
    return [
        ScoreRun(one, whole.columns, scores, whole.metadata, reader(pc.equal(names, one)))
        for one in pc.unique(names).to_pylist()
    ]


def _named_apart(runs: Sequence[ScoreRun]) -> list[ScoreRun]:
    """Files with the same name are named by their paths, and remaining duplicates are numbered."""
    counts = Counter(run.name for run in runs)
    named = [replace(run, name=run.path) if counts[run.name] > 1 and run.path else run for run in runs]
    seen: Counter[str] = Counter()
    found = []
    for run in named:
        seen[run.name] += 1
        found.append(run if seen[run.name] == 1 else replace(run, name=f"{run.name} ({seen[run.name]})"))
    return found
