"""One table of scores: the scores, ids, kept columns and metadata of a run, opened once from any form."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import (
    Flags,
    Floats,
    Ints,
    floats_of_arrow,
    is_list,
    is_number,
    is_text,
    plain_array,
    plain_table,
)
from fastmetrics.base.column_names import COLUMNS, is_cost, is_id, roles
from fastmetrics.base.columns import (
    aligned_table,
    as_arrow,
    index_columns,
    is_column,
    open_frame,
    tells_rows,
    with_index,
)
from fastmetrics.base.errors import (
    Argument,
    ColumnError,
    FastmetricsError,
    FileFormatError,
    InputError,
    OptionError,
    UnknownNameError,
    some,
)
from fastmetrics.base.score_metadata import METADATA, ScoreMetadata, counts_column, drift_notes
from fastmetrics.plans.corpus_values import is_corpus, is_counted, lists_read
from fastmetrics.plans.notes import unread_notes
from fastmetrics.plans.stored_metadata import Declared
from fastmetrics.results.main_metric import concern_of
from fastmetrics.results.row_groups import Piece, SortedIds
from fastmetrics.results.score_columns import (
    check_bounds,
    column_named,
    declared,
    declared_bounds,
    score_columns,
    stored_declarations,
    unknown_metric,
    untyped_scores,
    with_score_types,
)
from fastmetrics.stats.labels import are_flags
from fastmetrics.tables.addresses import as_local, last_name, shown_address
from fastmetrics.tables.csv_files import as_it_looks
from fastmetrics.tables.formats import without_suffix
from fastmetrics.tables.good_rows import good_batches, read_in_turn, whole_table
from fastmetrics.tables.input_files import DataFile
from fastmetrics.tables.opening import is_paths, open_each, open_source
from fastmetrics.tables.outputs import find_metadata
from fastmetrics.tables.readers import batch_of
from fastmetrics.tables.sources import FileSource

UNSCORED = "holds answers, not scores: run `fastmetrics score` (fm.score) first"
"""What is said of a table of answers where scores are expected."""
QUESTION = ("question", *COLUMNS["question"].aliases)
_INPUT = frozenset(
    name
    for column in COLUMNS.values()
    if column.kind not in ("number", "amounts", "flag")
    for name in (column.name, *column.aliases)
)
"""The input columns that hold no numbers, though an answer or a reference may look like one."""
_FEW = 6
"""Maximum number of columns of a large Parquet file to read at once."""
_FEW_CELLS = 2_500_000
"""A table with this number of cells is read at once: its numbers take 20 MB."""
_MOST_NAMED = 5
"""Maximum number of runs that an error names."""
_NUMBERS = {str(type_): type_ for type_ in (pa.bool_(), pa.int64(), pa.int32(), pa.float64(), pa.float32())}
"""The types of scores by their names in metadata."""


@dataclass(frozen=True)
class ScoreTable:
    """The scores of one system: ``columns`` are the available columns, ``read`` returns some of them as a table."""

    name: str
    columns: Sequence[str]
    scores: Sequence[str]
    metadata: ScoreMetadata
    declared: Mapping[str, Declared]
    """The declarations of its scores: stored, where their names do not tell them, or those of their metrics."""
    read: Callable[[Sequence[str]], pa.Table]
    source: FileSource | None = None
    """The file, folder or address that was opened."""
    address: str | None = None
    """The name by which messages call the source."""
    looks: Mapping[str, pa.DataType] = field(default_factory=dict)
    """The types of scores that only their text tells, as in CSV without metadata: numbers or booleans."""
    is_part: bool = False
    """Whether these are some rows of a table or several tables, so that the metadata count other rows."""
    types: Mapping[str, pa.DataType] | None = None
    """The types of the columns, if one can be read without the others, as in Parquet."""
    loaded: frozenset[str] = frozenset()
    """The columns in memory."""
    sorted: dict[str, SortedIds] = field(default_factory=dict, repr=False, compare=False)
    """Sorted id columns, shared by the table and its copies with the same rows."""
    is_numbered: bool = False
    """Whether the ids are the numbers of the rows, as the run has none of its own."""
    index: tuple[str, ...] = ()
    """The columns with the index of a pandas frame."""
    questions: pa.Array | None = None
    """The id of each row, if the ids that are read tell more apart: the settings or segments of a question, too."""

    @cached_property
    def _roles(self) -> dict[str, list[str]]:
        return roles(self.columns)

    @cached_property
    def id_column(self) -> str | None:
        """The column with the ids, if there is one."""
        return next(iter(self._roles["id"]), None)

    @cached_property
    def question_column(self) -> str | None:
        """The column with the questions, if the run kept it."""
        return next((name for name in self.columns if name.lower() in QUESTION), None)

    @cached_property
    def repeat_column(self) -> str | None:
        """The column that numbers several answers to one question, if there is one."""
        return next(iter(self._roles["repeat"]), None)

    @cached_property
    def round_column(self) -> str | None:
        """The column that numbers the rounds of one answer, if there is one."""
        return next(iter(self._roles["round"]), None)

    @cached_property
    def settings_columns(self) -> list[str]:
        """The columns that say how an answer came about, such as its system."""
        return [name for name in self._roles["setting"] if name not in self.scores]

    def keys(self, *others: str | None) -> list[str]:
        """The columns that pair rows: ids, questions, numbers of repeats and rounds, settings, and ``others``."""
        names = (self.id_column, self.question_column, self.repeat_column, self.round_column, *others)
        return [*(name for name in names if name is not None), *self.settings_columns]

    @cached_property
    def summed_columns(self) -> list[str]:
        """The columns that a summary reads: scores, keys, and what the corpus metrics of a file are computed from."""
        return [*self.scores, *([] if self.source is None else [*self._lists, *self._counts]), *self.key_columns]

    @cached_property
    def key_columns(self) -> list[str]:
        """The columns with ids, the numbers of repeats and of rounds, the names of systems, and parameters."""
        return [name for some in self._roles.values() for name in some if name not in self.scores]

    @property
    def _counts(self) -> list[str]:
        """The columns with the counts of rows for the corpus metrics of the metadata."""
        return [name for name in map(counts_column, self.metadata.counts or ()) if name in self.columns]

    @property
    def _lists(self) -> list[str]:
        """The columns with lists for corpus metrics that need all rows at once."""
        return [name for name in lists_read(map(self.spec, self.metadata.counts or ())) if name in self.columns]

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The batches of the file's columns ``names``, by default those that are summed, each with the metadata.

        The first batch is empty, so that the columns of an empty file are known too.
        """
        assert self.source is not None
        source, stored = self.source, set(self.source.schema.names)
        # numbers of rows, say, are columns of the table alone
        chosen = [name for name in self.summed_columns if name in stored] if names is None else names
        listed = [] if source.has_types else [*self._lists, *self._counts]  # in CSV, known by their values
        plain: dict[str, pa.DataType | None] = {**dict.fromkeys(listed), **self.looks}
        selection = source.select(_kinds(source, chosen, self.scores, self.looks))
        metadata = {METADATA: json.dumps(self.metadata.stored)}
        nothing = batch_of(selection.schema)
        places = [(at, name) for at, name in enumerate(nothing.schema.names) if name in plain]
        for at, name in places:
            nothing = nothing.set_column(at, name, pa.array([], plain[name] or pa.list_(pa.float64())))
        yield nothing.replace_schema_metadata(metadata)
        for batch in good_batches(source, selection, any_length=True):
            for at, name in places:
                column = as_it_looks(pa.chunked_array([batch.column(at)]), comma=source.has_decimal_comma)
                column = column if (type_ := plain[name]) is None else column.cast(type_)
                batch = batch.set_column(at, name, column.combine_chunks())
            yield batch.replace_schema_metadata(metadata)

    def pieces(self) -> Iterable[Piece]:
        """What a summary adds up, with the metadata: the columns in memory, or else the file's batches."""
        if self.is_part:  # the counts of rows in the metadata are those of the whole
            declared = ScoreMetadata(declared=self.metadata.declared)
            return [self.read(self.summed_columns).replace_schema_metadata(declared.for_schema())]
        if self.source is None:
            return [self.read(self.columns)]
        if not (self.source.has_types and self.loaded.issuperset(self.summed_columns)):
            return self.batches()
        return [self.read(self.summed_columns).replace_schema_metadata({METADATA: json.dumps(self.metadata.stored)})]

    def parts(self) -> list[ScoreTable]:
        """This table, or each of its files, if these have no metadata in common."""
        if self.source is None or len(self.source.files) == 1 or self.metadata.stored:
            return [self]
        return _of_files(self.source.files)

    @property
    def _is_whole(self) -> bool:
        """Whether the rows are as many as the metadata count."""
        return self.metadata.rows is not None and self.read(self.columns[:1]).num_rows == self.metadata.rows

    @property
    def drift_notes(self) -> list[str]:
        """Notes on fitted scores used far from their labelled rows; none for a part of the rows that were counted."""
        drift = self.metadata.drift
        return [f"{self.name}: {note}" for note in drift_notes(drift)] if drift and self._is_whole else []

    @property
    def unread_notes(self) -> list[str]:
        """Notes on rows that could not be read; none for a part of the rows that were counted."""
        unread, n_rows = self.metadata.unread, self.metadata.rows
        if not unread or n_rows is None or not self._is_whole:
            return []
        return [f"{self.name}: {note}" for note in unread_notes(unread, n_rows)]

    def spec(self, name: str) -> str:
        """The metric of a score with its options."""
        return self.declared[name].spec if name in self.declared else name

    def in_memory(self, names: Sequence[str]) -> ScoreTable:
        """The table with these columns in memory, read at once; others are read when they are needed."""
        table = self.read([name for name in dict.fromkeys(names) if name in self.columns])
        loaded = frozenset(table.column_names)

        def read(names: Sequence[str]) -> pa.Table:
            if loaded.issuperset(names):
                return table.select(names)
            pa.default_memory_pool().release_unused()
            return self.read(names)

        return replace(self, read=read, loaded=loaded)

    def by_column(self, names: Sequence[str]) -> ScoreTable:
        """The table with these columns in memory, except for those that are large and can be read when they are needed.

        They are ids, questions, scores and counts in a file that is read by column: each takes 40 MB or more of five
        million rows.
        """
        if self.types is None:
            return self.in_memory(names)
        large = {*self.scores, *map(counts_column, self.counted), self.id_column, self.question_column}
        return self.in_memory([name for name in names if name not in large])

    def with_columns(self, columns: Mapping[str, pa.Array]) -> ScoreTable:
        """The table with more columns, or with other values in its own."""

        def read(names: Sequence[str]) -> pa.Table:
            table = self.read([name for name in names if name not in columns])
            for name in names:
                if name in columns:
                    table = table.append_column(name, columns[name])
            return table.select(names)

        types = {**self.types, **{name: values.type for name, values in columns.items()}} if self.types else None
        every = list(dict.fromkeys([*self.columns, *columns]))
        return replace(self, columns=every, read=read, types=types, sorted={})

    def with_flags(self, names: Sequence[str]) -> ScoreTable:
        """The table with these columns of 0 and 1 as booleans.

        Raises ``UnknownNameError`` for another name, ``InputError`` for another value.
        """
        flags = {}
        for name in names:
            if name not in self.scores:
                raise UnknownNameError.of("column of scores", name, self.scores)
            values = self.values(name)
            other = ~(np.isnan(values) | (values == 0) | (values == 1))
            if other.any():
                row = int(other.argmax())
                raise InputError(f"{self.name}, row {row:,}: {name} is {values[row]:g}, but a flag is 0 or 1")
            flags[name] = pa.array(values == 1, mask=np.isnan(values))
        return self.with_columns(flags) if flags else self

    @cached_property
    def row_labels(self) -> pa.Array | None:
        """The labels of a pandas index as texts, if they tell rows apart: unique, and not the default range."""
        columns = [one_array(self.read([name]).column(0)) for name in self.index]
        if not columns:
            return None
        n, first = len(columns[0]), columns[0]
        if len(columns) == 1 and pa.types.is_integer(first.type) and first.equals(pa.array(range(n), first.type)):
            return None
        labels = pa.array(map(str, zip(*(column.to_pylist() for column in columns), strict=True)), pa.large_string())
        return labels if pc.count_distinct(labels).as_py() == n else None

    @property
    def schema(self) -> pa.Schema:
        """The columns with their types, as :attr:`read` returns them."""
        return self.read(self.columns).schema if self.types is None else pa.schema(self.types.items())

    def type_of(self, name: str) -> pa.DataType:
        """The type of a column, as :attr:`read` returns it."""
        return self.types[name] if self.types is not None else self.read([name]).schema.field(0).type

    def column(self, name: str, purpose: str = "") -> pa.Array:
        """One column; raises a ``ColumnError`` that states its purpose."""
        if name not in self.columns:
            raise ColumnError(f"{self.name} has no column {name!r} {purpose}; it has {', '.join(self.columns)}")
        return one_array(self.read([name]).column(0))

    def values(self, name: str) -> Floats:
        """The scores of one metric, NaN without a score."""
        return floats_of_arrow(one_array(self.read([name]).column(0)), name)

    @cached_property
    def counted(self) -> list[str]:
        """The corpus metrics for which the run stores the counts of rows."""
        ending = counts_column("")
        names = [name.removesuffix(ending) for name in self.columns if name.endswith(ending)]
        return [name for name in names if is_counted(self.spec(name))]

    def counts(self, metric: str) -> tuple[Ints, Flags]:
        """Each row's counts for a corpus metric, and whether the row was counted."""
        name = counts_column(metric)
        column = self.column(name, f"to compare {metric} by")
        listed = is_list(column.type)
        flat = column.flatten() if listed else None
        if pa.types.is_null(column.type) or (flat is not None and not len(flat)):
            return np.zeros((len(column), 0), np.int64), np.zeros(len(column), np.bool_)
        sizes = pc.unique(pc.list_value_length(column).drop_null()) if listed else []
        if flat is None or not pa.types.is_integer(flat.type) or flat.null_count or len(sizes) != 1:
            raise ColumnError(f"column {name!r} of {self.name} does not contain one list of integers per row")
        present = column.is_valid().to_numpy(zero_copy_only=False)
        counts = np.zeros((len(column), sizes[0].as_py()), np.int64)
        counts[present] = flat.to_numpy().reshape(-1, counts.shape[1])
        return counts, present

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
        self.check_distinct(name)
        return self.sorted_ids(name).text

    def check_distinct(self, name: str) -> None:
        """Raise ``InputError`` for a duplicate id."""
        ids = self.sorted_ids(name)
        if not ids.are_distinct:
            twice = list(ids.duplicates())
            first, count = twice[0]
            others = f"; {len(twice) - 1:,} more ids are duplicates" if len(twice) > 1 else ""
            raise InputError(f"column {name!r} of {self.name}: the id {first!r} occurs in {count:,} rows{others}")

    def sorted_ids(self, name: str, like: SortedIds | None = None) -> SortedIds:
        """The ids, sorted once; from then on ``like``, if it has the same ids in the same order.

        Raises the errors of :meth:`texts`.
        """
        ids = self.sorted.get(name)
        if ids is None or (like is not None and ids is not like):
            texts = self.texts(name) if ids is None else ids.text
            if like is not None and texts.equals(like.text):
                ids = like
            self.sorted[name] = SortedIds.of(texts) if ids is None else ids
            pa.default_memory_pool().release_unused()
        return self.sorted[name]


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The values of a column, which were checked when they were read, in one plain array."""
    kind, chunks = column.type, column.chunks or [pa.array([], column.type)]
    is_plain = pa.types.is_primitive(kind) or pa.types.is_large_string(kind) or pa.types.is_string(kind)
    return pa.concat_arrays(chunks if is_plain else [plain_array(chunk) for chunk in chunks])


# What several tables have in common.


def shared_metrics(runs: Sequence[ScoreTable], requested: Sequence[str], *, counted: bool = False) -> list[str]:
    """The columns to read: the requested ones, or all for which every run has scores (or, if ``counted``, counts).

    The cost of a judge's calls is compared only on request, because every metric makes the correction of p stricter.
    """
    by_run = [[*run.scores, *(run.counted if counted else ())] for run in runs]
    requested = list(dict.fromkeys(column_named(name, by_run[0]) for name in requested))
    for name in requested:
        for run, names in zip(runs, by_run, strict=True):
            if name not in names:
                _check_counted(run, name, counted)
                near = unknown_metric(name, names, run.declared).message
                advice = f"; it {UNSCORED}" if is_unscored(run, name) else ""
                raise UnknownNameError(f"{run.name} has no scores of {name!r}: ", near, advice)
    if requested:
        return requested
    scores = [name for name in runs[0].scores if all(name in run.scores for run in runs)]
    metrics = [name for name in scores if not is_cost(name)] or scores
    metrics += [name for name in by_run[0] if name not in runs[0].scores and all(name in names for names in by_run)]
    if not metrics:
        scored = "; ".join(f"{run.name} has {', '.join(run.scores) or 'none'}" for run in runs[:5])
        raise ColumnError(f"the runs share no score column: {scored}")
    return metrics


def _check_counted(run: ScoreTable, name: str, counted: bool) -> None:
    """Raise ``ColumnError`` for a corpus metric, which has no scores of rows; its counts serve some readers."""
    spec = run.spec(name)
    if not counted and is_corpus(spec):
        raise ColumnError(f"{name} is a corpus metric: it has one value a table, and no scores of rows")
    if is_counted(spec):
        again = Argument("keep_counts", True)
        raise ColumnError(f"{run.name} has no counts of {name} for each row; score it with --keep-counts (", again, ")")
    if is_corpus(spec):
        raise ColumnError(f"{name} cannot be compared: it depends on all rows at once, not on counts of rows")


def is_unscored(run: ScoreTable, metric: str) -> bool:
    """Whether a run without scores of a metric is a table of answers: its numbers were logged with them."""
    scored = [name for name in declared(run.scores, run.declared) if name not in COLUMNS]
    return bool(declared([metric], {})) and not scored and _has_answers(run.columns)


def _has_answers(names: Iterable[str]) -> bool:
    answer = ("answer", *COLUMNS["answer"].aliases)
    return any(name.lower() in answer for name in names)


def bounds_of(runs: Sequence[ScoreTable], names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """The smallest and the largest score of these columns: as declared, or 0 and 1 of columns of booleans.

    Latencies, tokens and prices have none: nothing limits how large the rare ones are, unlike the length of a text.
    """
    found = declared_bounds(names, first_declared(runs))
    for name in names:
        is_open = name in found and math.isinf(found[name][1])  # as those of all latencies, tokens and prices
        if is_open and any(name in run.scores and concern_of(name, run.spec(name)) == "cost" for run in runs):
            del found[name]
        types = [run.type_of(name) for run in runs if name in run.scores]
        if types and all(map(pa.types.is_boolean, types)):
            found[name] = (0.0, 1.0)
    return found


def first_declared(runs: Sequence[ScoreTable]) -> dict[str, Declared]:
    """The stored declarations of several runs, of each score by the first run that has one."""
    return {name: declaration for run in reversed(runs) for name, declaration in run.declared.items()}


def infinite_notes(counts: Mapping[str, int], run: str = "") -> list[str]:
    """The notes on the numbers of infinite scores of a run's metrics.

    >>> infinite_notes({"ratio": 2, "token_f1": 0})
    ['ratio: 2 infinite scores count as undefined']
    """
    return [
        f"{run and run + ', '}{name}: {n:,} infinite score{'s count' if n > 1 else ' counts'} as undefined"
        for name, n in counts.items()
        if n
    ]


# Opening tables of scores: one run, several runs, one table whose column names the systems.


def open_scores(scores: Any, name: str | None = None, *, table: str = "run 1", latest: bool = False) -> ScoreTable:
    """One run in any form, under its own name or another ``name``; a table without one is called ``table``.

    Raises ``OptionError`` for several runs; ``latest`` says whether the caller can take the last one.
    """
    if isinstance(scores, ScoreTable):
        return replace(scores, name=name or scores.name)
    if not is_paths(scores):
        return _of_table(getattr(scores, "per_query", scores), name or table)
    if not isinstance(scores, str | Path):
        raise InputError(f"{table}: expected one run, got {len(scores)} paths; name them by a folder or a pattern")
    opened = open_file(scores)
    files = () if opened.source is None or opened.metadata.stored else opened.source.files
    each = ((file.shown, metadata_of(file.path, [file])) for file in files if len(files) > 1)
    runs = [shown for shown, metadata in each if metadata is not None and metadata.metrics is not None]
    if len(runs) > 1:  # files without the metadata of a run are parts of one table
        ways = (", or take the last one with ", Argument("latest", True)) if latest else ()
        many = f"{opened.address} holds {len(runs):,} runs: {some(runs, _MOST_NAMED)}; name one of them"
        raise OptionError(many, *ways)
    return opened if name is None else replace(opened, name=name)


def open_runs(runs: Any, system: str | None = None, least: int = 2, of: str = "runs") -> list[ScoreTable]:
    """Runs in any form: paths and tables in a list or a dict, or one table whose column ``system`` names them.

    Two files with the same name are named by their paths.  Raises ``InputError``, about the argument ``of``, for fewer
    than ``least`` runs.
    """
    if system is not None:
        opened = _by_system(open_scores(runs), system)
    elif isinstance(runs, Mapping):
        opened = [open_scores(run, str(name)) for name, run in runs.items()]
    elif isinstance(runs, Sequence) and not isinstance(runs, str | bytes):
        opened = [open_scores(run, table=f"run {place}") for place, run in enumerate(runs, 1)]
    else:
        ways = ": expected at least two runs: a list, a dict of names and runs, or one table with "
        raise InputError(Argument(of, otherwise=f"the {of}"), ways, Argument("system"))
    if not opened and least == 1:
        raise InputError("there are no runs")
    if len(opened) < least:
        got = f": expected at least two runs, got {'one' if opened else 'none'}; "
        way = "add another, or name the column of systems of one table with "
        raise InputError(Argument(of, otherwise=f"the {of}"), got, way, Argument("system"))
    counts, seen = Counter(run.name for run in opened), Counter[str]()
    apart = []
    for run in opened:
        name = str(run.address) if counts[run.name] > 1 and run.address else run.name
        seen[name] += 1
        apart.append(replace(run, name=name if seen[name] == 1 else f"{name} ({seen[name]})"))
    return apart


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


def run_of(runs: Sequence[ScoreTable], wanted: Any) -> ScoreTable | None:
    """The run of this name, or of the file at this path; None if it is none of them."""
    if not isinstance(wanted, str | Path):
        return None
    file = shown_address(as_local(wanted))
    return next((run for run in runs if str(wanted) == run.name or run.address == file), None)


def unknown_run(of: str, wanted: Any, runs: Sequence[ScoreTable]) -> FastmetricsError:
    """The error of a run that is none of them, the value of the argument ``of``."""
    if not isinstance(wanted, str | Path):
        return OptionError(Argument(of, wanted), ": expected the name or the file of a run")
    return UnknownNameError.of("run", str(wanted), [run.name for run in runs])


def two_runs(runs: Sequence[ScoreTable], baseline: str | None, other: str | None) -> tuple[ScoreTable, ScoreTable]:
    """The baseline and the compared run: by name or file, or the first and the second of two.

    Raises ``UnknownNameError`` for an unknown name, ``OptionError`` if names are needed to choose.
    """
    named, second = (None if wanted is None else run_of(runs, wanted) for wanted in (baseline, other))
    for of, wanted, found in (("baseline", baseline, named), ("other", other, second)):
        if wanted is not None and found is None:
            raise unknown_run(of, wanted, runs)
    first = named or next(run for run in runs if run is not second)
    left = [run for run in runs if run is not first]
    if other is None and len(left) > 1:
        names, both = ", ".join(run.name for run in left), (Argument("baseline"), " and ", Argument("other"))
        raise OptionError(f"there are {len(runs)} runs; choose two of them with ", *both, f": {first.name}, {names}")
    second = second or left[0]
    if second is first:
        raise OptionError(Argument("other", other), ": this run is the baseline; choose another run")
    return first, second


def open_file(path: str | Path) -> ScoreTable:
    """The table in a file, a folder of parts or at an address.

    Raises ``FileFormatError`` if it cannot be read or contains no scores.
    """
    text = as_local(path)
    source = open_source(text)
    return _of_source(shown_address(text), source, metadata_of(text, source.files))


def open_parts(path: str | Path) -> list[ScoreTable]:
    """The table at a path, or each file of a folder or pattern, with its own metadata."""
    text = as_local(path)
    source = open_source(text)
    if len(source.files) == 1 or find_metadata(text) is not None:
        return [_of_source(shown_address(text), source, metadata_of(text, source.files))]
    return _of_files(source.files)


def _of_files(files: Sequence[DataFile]) -> list[ScoreTable]:
    each = ((source, source.files[0]) for source in open_each(files))
    return [_of_source(file.shown, source, metadata_of(file.path, [file])) for source, file in each]


def _of_source(address: str, source: FileSource, stored: ScoreMetadata | None) -> ScoreTable:
    """The table in an opened source; columns of Parquet are read one by one, unless all together are small."""
    metadata, names, listed = stored or ScoreMetadata(), source.schema.names, stored_scores(stored)
    looks = {} if listed is not None or source.has_types else _looks(source)
    schema = pa.schema(looks.items()) if looks else source.schema
    known = {*score_columns(schema), *untyped_scores(schema)} if listed is None else listed
    scores = [name for name in names if name in known]
    if not (scores or metadata.metrics is not None):
        what = f" {UNSCORED}" if _has_answers(names) else ": no column of scores (numbers or booleans)"
        raise FileFormatError(f"{address}{what}")
    kinds_of_looks = {name: pa.bool_() if pa.types.is_boolean(looks[name]) else pa.float64() for name in looks}
    looks = {name: kinds_of_looks[name] for name in scores if name in looks}
    cells = math.inf if source.rows is None else source.rows * len(source.schema)
    by_column = cells > _FEW_CELLS and {part.format for part in source.files} <= {"parquet"}
    few = _FEW if by_column else len(source.schema)

    def plain(names: Sequence[str]) -> pa.Table:
        table = read_in_turn(source, _kinds(source, names, scores, looks), few)
        for at, name in enumerate(table.column_names):
            if not source.has_types and (name not in scores or name in looks) and not is_id(name):
                table = table.set_column(at, name, as_it_looks(table.column(at), comma=source.has_decimal_comma))
        return table

    types = None
    if by_column:
        selected = source.select(_kinds(source, names, scores, looks)).schema
        types = dict(zip(selected.names, selected.types, strict=True))
    name = metadata.name or without_suffix(last_name(address))
    declarations, read = _within_bounds(plain, name, scores, metadata)
    return ScoreTable(name, names, scores, metadata, declarations, read, source, address, looks, types=types)


def _kinds(
    source: FileSource, names: Sequence[str], scores: Sequence[str], looks: Mapping[str, pa.DataType]
) -> dict[str, str]:
    """The kind of each column: scores are numbers or flags, or text that is read as it looks."""
    flags = {column.name for column in source.schema if pa.types.is_boolean(column.type)}
    plain = {name for name in names if name not in scores or name in looks}
    return {name: "any" if name in plain else "flag" if name in flags else "number" for name in names}


def _looks(source: FileSource) -> dict[str, pa.DataType]:
    """The types of the columns of text that hold numbers or booleans only, or nothing; empty if there are none."""
    types: dict[str, set[pa.DataType]] = {name: set() for name in source.schema.names if name.lower() not in _INPUT}
    for batch in good_batches(source, source.select(dict.fromkeys(types, "any")), any_length=True):
        for name, found in list(types.items()):
            type_ = as_it_looks(pa.chunked_array([batch.column(name)]), comma=source.has_decimal_comma).type
            found |= set() if pa.types.is_null(type_) else {pa.float64() if is_number(type_) else type_}
            if not found <= {pa.float64()} and found != {pa.bool_()}:
                del types[name]
        if not types:
            break
    return {name: next(iter(found), pa.null()) for name, found in types.items()}


def _of_table(table: Any, name: str) -> ScoreTable:
    frame, metadata = open_frame(table, name), ScoreMetadata()
    if isinstance(table, pa.Table | pa.RecordBatch):
        try:
            metadata = ScoreMetadata.of_schema(table.schema)
        except FileFormatError as error:
            raise FileFormatError(f"{name}: {error}") from error
    whole = with_score_types(pa.concat_tables(frame.read(list(dict.fromkeys(frame.names)))[1]))
    if isinstance(stored := frame.attributes.get(METADATA.decode()), str):  # of ``fm.with_scores``
        whole = whole.replace_schema_metadata({METADATA: stored})
    if frame.index is not None and tells_rows(frame.index):
        try:
            whole = with_index(whole, frame.index)
        except ColumnError:  # labels of several types
            whole = with_index(whole, frame.index.map(str))
    scores = stored_scores(metadata) or score_columns(whole.schema)
    scores = [score for score in scores if score in whole.column_names]
    known, read = _within_bounds(whole.select, name, scores, metadata)
    index = tuple(sorted(index_columns(whole.schema)))
    return ScoreTable(name, whole.column_names, scores, metadata, known, read, index=index)


def _within_bounds(
    read: Callable[[Sequence[str]], pa.Table], run: str, scores: Sequence[str], metadata: ScoreMetadata
) -> tuple[dict[str, Declared], Callable[[Sequence[str]], pa.Table]]:
    """The declarations of scores, and a reader that checks each column of them once: its values lie within its bounds.

    The reader raises ``InputError`` for a score outside them: a mean, an interval or a rule would be of another scale.
    """
    stored = stored_declarations(metadata)
    known = {**stored, **declared(scores, stored)}
    bounds = {name: known[name].bounds for name in scores if name in known}

    def checked(names: Sequence[str]) -> pa.Table:
        table = read(names)
        for name in bounds.keys() & set(names):
            check_bounds(table.column(name), name, bounds.pop(name), 0, run)
        return table

    return known, checked


def _by_system(whole: ScoreTable, system: str) -> list[ScoreTable]:
    """A run for each value of a column, in order of first occurrence."""
    column = whole.column(system, "that names the systems")
    if pa.types.is_nested(column.type):
        raise ColumnError(f"column {system!r} holds {column.type}, which cannot name systems")
    names, missing = column.cast(pa.large_string()), column.is_null(nan_is_null=True)
    if pc.any(missing).as_py():
        row = int(np.flatnonzero(missing.to_numpy(zero_copy_only=False))[0])
        raise InputError(f"column {system!r}, row {row}: the system is missing (null)")

    def run(name: str) -> ScoreTable:
        rows = pc.equal(names, name)
        # the missing queries of one ranking, since those of the whole table are the sum of all
        metadata = replace(whole.metadata, missing_queries=(whole.metadata.missing_by_ranking or {}).get(name))
        scores = [score for score in whole.scores if score != system]
        read = lambda columns: whole.read(columns).filter(rows)  # noqa: E731
        return ScoreTable(name, whole.columns, scores, metadata, whole.declared, read, is_part=True)

    return [run(name) for name in pc.unique(names).to_pylist()]


def metadata_of(path: str | Path, files: Sequence[DataFile] = ()) -> ScoreMetadata | None:
    """The metadata beside a path, or in its single file, or None if there are none.

    Raises a ``FileFormatError`` with the file's name if they cannot be read.
    """
    stored = find_metadata(path, files)
    try:
        return None if stored is None else ScoreMetadata.of(stored)
    except FileFormatError as error:
        raise FileFormatError(f"{shown_address(as_local(path))}: {error}") from error


def stored_scores(metadata: ScoreMetadata | None) -> list[str] | None:
    """The score columns of a file according to its metadata, or None if unknown."""
    if metadata is None:
        return None
    if metadata.metrics is not None:
        return list(metadata.metrics)  # the other numeric columns are copied input
    output = metadata.stored.get("output")
    if not isinstance(output, Mapping):
        return None
    return score_columns(pa.schema([(name, _NUMBERS.get(str(type_), pa.string())) for name, type_ in output.items()]))


# Tables of any kind as one Arrow table, or piece by piece.


def column_of(path: str | Path, name: str) -> Iterator[Any]:
    """The scores of one column of an output, or the lists stored in it, at each call."""
    for batch in open_file(path).batches([name]):
        yield batch.column(0) if is_list(batch.schema.field(0).type) else floats_of_arrow(batch.column(0), name)


def read_table(path: str | Path | Sequence[str | Path], text: Collection[str] | None = None) -> pa.Table:
    """The rows of a file, a folder, or any other input of ``open_source``; raises ``FileFormatError`` for a bad row.

    In CSV and TSV, the columns ``text`` (by default all) and ids are read as text and the types of the others are
    inferred.  The metadata of the table contain the stored declarations of the scores.
    """
    source = open_source(path)
    # several files are read as tables of any kind
    metadata = metadata_of(path, source.files) if isinstance(path, str | Path) else None
    scores = stored_scores(metadata) or ()
    table = whole_table(source, {name: "number" if name in scores else "any" for name in source.schema.names})
    if metadata is not None and metadata.declared is not None:
        table = table.replace_schema_metadata(ScoreMetadata(declared=metadata.declared).for_schema())
    if text is None or source.has_types:
        return table
    for at, name in enumerate(table.column_names):
        if name not in text and name not in scores and not is_id(name):
            table = table.set_column(at, name, as_it_looks(table.column(at)))
    return table


def as_table(data: Any, on: str | None, columns: Collection[str], name: str) -> tuple[pa.Table, Sequence[str]]:
    """A table from scores or labels in any form, and what was left out; a plain sequence becomes the column ``label``.

    The table includes the pandas index if no column identifies the rows.  ``columns`` is as in ``pieces_of``, and
    ``name`` is what errors call the data.
    """
    given = data
    if is_column(data):
        labels = as_arrow(data, "label")
        if is_text(labels.type) and not are_flags(labels):
            advice = "several files are named by Path objects"
            raise ColumnError(f"{name}: expected numbers or booleans, got {labels.type}; {advice}")
        given = {"label": labels}
    read, _, notes = pieces_of(given, columns, name)
    pieces = [piece if isinstance(piece, pa.Table) else pa.Table.from_batches([piece]) for piece in read()]
    table = pa.concat_tables(pieces) if pieces else pa.table({})
    by_row = hasattr(data, "iloc") and on is None and "id" not in table.column_names
    return with_index(table, data.index) if by_row else table, notes


def pieces_of(
    scores: Any, needed: Collection[str] = (), name: str = "scores"
) -> tuple[Callable[[], Iterable[Piece]], bool, list[str]]:
    """What reads a table of any kind piece by piece, whether it can do so again, and notes on columns left out.

    A column that cannot be read, such as mixed objects, is left out unless it is ``needed``.  Raises ``InputError`` for
    anything but a table or an iterable of parts of one.
    """
    if isinstance(scores, ScoreTable):
        return scores.pieces, True, []
    if type(scores).__module__.startswith(("ray.data", "pyspark.")):
        way = "write it as Parquet, and name the folder"
        raise InputError(f"{name}: a {type(scores).__name__} is in the workers of a cluster; {way}")
    if isinstance(scores, pa.Table | pa.RecordBatch):
        return lambda: _plain([scores]), True, []
    if isinstance(scores, pa.RecordBatchReader):
        return lambda: _plain([scores]), False, []
    if callable(scores):
        return lambda: _plain(scores()), True, []
    is_frame = any(hasattr(type(scores), attribute) for attribute in ("columns", "__arrow_c_stream__"))
    has_rows = isinstance(scores, list | tuple) and scores and isinstance(scores[0], Mapping)
    if isinstance(scores, Mapping) or is_frame or has_rows:
        frame, columns, notes = open_frame(scores), {}, []
        for column in dict.fromkeys(frame.names):
            try:
                columns[column] = pa.concat_tables(frame.read([column])[1]).column(0)
            except ColumnError as error:
                if column in needed:
                    raise
                notes.append(f"left out: {error}")
        table = aligned_table(columns)
        if isinstance(stored := frame.attributes.get(METADATA.decode()), str):  # of ``fm.with_scores``
            table = table.replace_schema_metadata({METADATA: stored})
        return lambda: [table], True, notes
    if isinstance(scores, Iterable) and not isinstance(scores, str | bytes):
        once = isinstance(scores, Iterator) or any(isinstance(item, pa.RecordBatchReader) for item in scores)
        return lambda: _plain(scores), not once, []
    raise InputError(f"{name}: expected a table of scores, got {type(scores).__name__}")


def _plain(items: Iterable[Any]) -> Iterator[Piece]:
    for place, item in enumerate(items):
        if isinstance(item, pa.RecordBatchReader):
            yield plain_table(item.schema.empty_table())
            yield from map(plain_table, item)
        elif isinstance(item, pa.Table | pa.RecordBatch):
            yield plain_table(item)
        else:
            raise InputError(f"item {place}: expected an Arrow table or record batch, got {type(item).__name__}")
