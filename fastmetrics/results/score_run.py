"""The scores of one system in one form, of a file or a table, the metrics that several such runs share, and their
ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints, is_text
from fastmetrics.base.column_names import COLUMNS, is_cost, is_id, is_repeat, is_round, is_setting
from fastmetrics.base.columns import as_array, as_numbers
from fastmetrics.base.errors import Argument, ColumnError, InputError, UnknownNameError
from fastmetrics.base.score_metadata import MissingQueries, ScoreMetadata, counts_column, drift_notes
from fastmetrics.plans.corpus_values import is_corpus, is_counted
from fastmetrics.plans.notes import unread_notes
from fastmetrics.plans.stored_metadata import Declared
from fastmetrics.results.score_file import (
    UNSCORED,
    ScoreFile,
    column_named,
    declared,
    declared_bounds,
    has_answers,
    stored_declarations,
    unknown_metric,
)

# Ids in sorted order: the duplicates among them, and the ids that several runs share.
#
# Sorting needs one number per row, where a hash table of five million texts needs more than a gigabyte.


_BLOCK = 1 << 17
"""Number of neighbouring ids to compare at once."""


@dataclass(frozen=True)
class SortedIds:
    """Ids in the order of their rows, and ``order``, which sorts them; equal ids are in the order of their rows."""

    ids: pa.ChunkedArray
    order: Ints

    @classmethod
    def of(cls, *columns: pa.Array) -> SortedIds:
        """The ids of one column of texts after another."""
        ids = pa.chunked_array(columns, pa.large_string())
        return cls(ids, pc.sort_indices(ids).to_numpy().astype(np.int64, copy=False))

    def __len__(self) -> int:
        return len(self.order)

    def text_of(self, row: int) -> str:
        """The id of a row."""
        return str(self.ids[row].as_py())

    @property
    def text(self) -> pa.Array:
        """The ids in one array, in the order of their rows."""
        return _one_array(self.ids)

    @cached_property
    def is_first(self) -> Flags:
        """For each place in the order, whether its id differs from the id before."""
        first = np.ones(len(self.order), np.bool_)
        for start in range(1, len(first), _BLOCK):
            stop = min(start + _BLOCK, len(first))
            texts = _one_array(self.ids.take(pa.array(self.order[start - 1 : stop])))
            first[start:stop] = pc.not_equal(texts[1:], texts[:-1]).to_numpy(zero_copy_only=False)
        return first

    @property
    def are_distinct(self) -> bool:
        """Whether no id occurs twice."""
        return bool(self.is_first.all())

    @property
    def numbers(self) -> Ints:
        """The number of each row's id: its place among the distinct ids in sorted order."""
        numbers = np.empty(len(self.order), np.int64)
        numbers[self.order] = np.cumsum(self.is_first) - 1
        return numbers

    def duplicates(self) -> Iterator[tuple[str, int]]:
        """Each id of several rows and its number of rows, in the order of their first rows."""
        places = np.flatnonzero(self.is_first)
        counts = np.diff(places, append=len(self.order))
        several = np.flatnonzero(counts > 1)
        rows = self.order[places[several]]
        for at in np.argsort(rows):
            yield self.text_of(int(rows[at])), int(counts[several[at]])

    def distinct_text(self, place: int) -> str:
        """The id at a place among the distinct ids, sorted."""
        return self.text_of(int(self.order[np.flatnonzero(self.is_first)[place]]))

    def distinct(self) -> pa.Array:
        """The distinct ids, sorted."""
        return _one_array(self.ids.take(pa.array(self.order[self.is_first])))


def rows_of_ids(columns: Sequence[SortedIds]) -> tuple[SortedIds, list[Ints]]:
    """All ids of several columns without duplicates, and per column the row of each distinct id, or -1."""
    if all(column is columns[0] for column in columns):
        return columns[0], [columns[0].order] * len(columns)
    every = SortedIds.of(*(chunk for column in columns for chunk in column.ids.chunks))
    numbers = every.numbers
    rows, start = [], 0
    for column in columns:
        own = numbers[start : start + len(column.order)]
        rows.append(np.full(int(every.is_first.sum()), -1, np.int64))
        rows[-1][own] = np.arange(len(own))
        start += len(own)
    return every, rows


def _one_array(texts: pa.ChunkedArray) -> pa.Array:
    return texts.combine_chunks() if texts.num_chunks != 1 else texts.chunk(0)


# The scores of one system in one form, of a file or a table, and the metrics that several such runs share.


QUESTION = ("question", *COLUMNS["question"].aliases)


@dataclass(frozen=True)
class ScoreRun:
    """The scores of one system: ``columns`` are the available columns, ``read`` returns some of them as a table."""

    name: str
    columns: Sequence[str]
    scores: Sequence[str]
    metadata: ScoreMetadata
    read: Callable[[Sequence[str]], pa.Table]
    origin: Any = None
    """The opened score file, or the table, that the scores are from; None for a part of one."""
    types: Mapping[str, pa.DataType] | None = None
    """The types of the columns, if one can be read without the others, as in Parquet."""
    loaded: frozenset[str] = frozenset()
    """The columns in memory."""
    sorted: dict[str, SortedIds] = field(default_factory=dict, repr=False, compare=False)
    """Sorted id columns, shared by the run and its copies with the same rows."""

    is_numbered: bool = False
    """Whether the ids are the numbers of the rows, as the run has none of its own."""
    index: tuple[str, ...] = ()
    """The columns with the index of a pandas frame."""
    questions: pa.Array | None = None
    """The id of each row, if the ids that are read tell more apart: the settings or segments of a question, too."""

    @property
    def file(self) -> ScoreFile | None:
        """The score file, if the scores are from one."""
        return self.origin if isinstance(self.origin, ScoreFile) else None

    @cached_property
    def id_column(self) -> str | None:
        """The column with the ids, if there is one."""
        return next((name for name in self.columns if is_id(name)), None)

    @cached_property
    def question_column(self) -> str | None:
        """The column with the questions, if the run kept it."""
        return next((name for name in self.columns if name.lower() in QUESTION), None)

    @cached_property
    def repeat_column(self) -> str | None:
        """The column that numbers several answers to one question, if there is one."""
        return next((name for name in self.columns if is_repeat(name)), None)

    @cached_property
    def round_column(self) -> str | None:
        """The column that numbers the rounds of one answer, if there is one."""
        return next((name for name in self.columns if is_round(name)), None)

    def keys(self, *others: str | None) -> list[str]:
        """The columns that pair rows: ids, questions, numbers of repeats and rounds, settings, and ``others``."""
        names = (self.id_column, self.question_column, self.repeat_column, self.round_column, *others)
        return [*(name for name in names if name is not None), *self.settings_columns]

    @cached_property
    def settings_columns(self) -> list[str]:
        """The columns that say how an answer came about, such as its system."""
        return [name for name in self.columns if is_setting(name) and name not in self.scores]

    @property
    def missing_queries(self) -> MissingQueries | None:
        """The judged queries that the run lacks, if it is an evaluated run."""
        return self.metadata.missing_queries

    @property
    def drift_notes(self) -> list[str]:
        """Notes on fitted scores used far from their labelled rows; none for a part of the rows that were counted."""
        drift = self.metadata.drift
        if not drift or self.read(self.columns[:1]).num_rows != self.metadata.rows:
            return []
        return [f"{self.name}: {note}" for note in drift_notes(drift)]

    @property
    def unread_notes(self) -> list[str]:
        """Notes on rows that could not be read; none for a part of the rows that were counted."""
        unread, n_rows = self.metadata.unread, self.metadata.rows
        if not unread or n_rows is None or self.read(self.columns[:1]).num_rows != n_rows:
            return []
        return [f"{self.name}: {note}" for note in unread_notes(unread, n_rows)]

    @cached_property
    def declared(self) -> dict[str, Declared]:
        """The stored declarations of its scores, where their names do not tell them."""
        return stored_declarations(self.metadata)

    def spec(self, name: str) -> str:
        """The metric of a score with its options."""
        return self.declared[name].spec if name in self.declared else name

    def in_memory(self, names: Sequence[str]) -> ScoreRun:
        """The run with these columns in memory, read at once; others are read when they are needed."""
        table = self.read([name for name in dict.fromkeys(names) if name in self.columns])

        loaded = frozenset(table.column_names)

        def read(names: Sequence[str]) -> pa.Table:
            if loaded.issuperset(names):
                return table.select(names)
            pa.default_memory_pool().release_unused()
            return self.read(names)

        return replace(self, read=read, loaded=loaded)

    @cached_property
    def row_labels(self) -> pa.Array | None:
        """The labels of a pandas index as texts, if they tell rows apart: unique, and not the default range."""
        columns = [as_array(self.read([name]).column(0), name) for name in self.index]
        if not columns:
            return None
        n, first = len(columns[0]), columns[0]
        if len(columns) == 1 and pa.types.is_integer(first.type) and first.equals(pa.array(range(n), first.type)):
            return None
        labels = pa.array(map(str, zip(*(column.to_pylist() for column in columns), strict=True)), pa.large_string())
        return labels if pc.count_distinct(labels).as_py() == n else None

    def with_columns(self, columns: Mapping[str, pa.Array]) -> ScoreRun:
        """The run with more columns, or with other values in its own."""

        def read(names: Sequence[str]) -> pa.Table:
            table = self.read([name for name in names if name not in columns])
            for name in names:
                if name in columns:
                    table = table.append_column(name, columns[name])
            return table.select(names)

        types = {**self.types, **{name: values.type for name, values in columns.items()}} if self.types else None
        every = list(dict.fromkeys([*self.columns, *columns]))
        return replace(self, columns=every, read=read, types=types, sorted={})

    def with_flags(self, names: Sequence[str]) -> ScoreRun:
        """The run with these columns of 0 and 1 as booleans.

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

    def told_apart(self, key: str, names: Sequence[str]) -> ScoreRun:
        """The run whose ids, in the column ``key``, tell apart rows with other values in the columns ``names``."""
        own = self.column(key, "")
        named = [(pa.scalar(f", {name}=", pa.large_string()), texts_of(self.column(name, ""))) for name in names]
        nothing = pa.scalar("", pa.large_string())
        ids = pc.binary_join_element_wise(texts_of(own), *(part for pair in named for part in pair), nothing)
        questions = self.questions if self.questions is not None else own
        return replace(self.with_columns({key: ids}), questions=questions)

    def reordered(self, rows: pa.Array) -> ScoreRun:
        """The run with its rows in another order."""

        def read(names: Sequence[str]) -> pa.Table:
            table = self.read(names)
            return table.take(rows) if names else table  # a table without columns would lose its rows

        return replace(self, read=read, sorted={}, index=())

    def numbered(self) -> ScoreRun:
        """The run without ids of its own with a column of them: the numbers of its rows, from 0."""

        def read(names: Sequence[str]) -> pa.Table:
            table = self.read([name for name in names if name != "id"])
            if "id" in names:
                table = table.append_column("id", pa.array(np.arange(table.num_rows))).select(names)
            return table

        types = None if self.types is None else {"id": pa.int64(), **self.types}
        columns = ["id", *self.columns]
        return replace(self, columns=columns, read=read, types=types, sorted={}, is_numbered=True)

    def by_column(self, names: Sequence[str]) -> ScoreRun:
        """The run with these columns in memory, except for those that are large and can be read when they are needed.

        They are ids, questions, scores and counts in a file that is read by column: each takes 40 MB or more of five
        million rows.
        """
        if self.types is None:
            return self.in_memory(names)
        large = {*self.scores, *map(counts_column, self.counted), self.id_column, self.question_column}
        return self.in_memory([name for name in names if name not in large])

    @property
    def summed_columns(self) -> list[str]:
        """The columns that a summary reads."""
        if self.file is not None:
            return self.file.summed_columns
        names = (self.id_column, self.repeat_column, self.round_column, *self.settings_columns)
        return [*self.scores, *(name for name in names if name is not None and name not in self.scores)]

    def score_batches(self) -> Iterable[pa.Table | pa.RecordBatch]:
        """What a summary adds up, with the metadata: the columns in memory, or else the file's batches."""
        file = self.file
        if self.origin is None:  # a part: the counts of rows in the metadata are those of the whole
            declared = ScoreMetadata(declared=self.metadata.declared)
            return [self.read(self.summed_columns).replace_schema_metadata(declared.for_schema())]
        if file is None:
            return [self.read(self.columns)]
        if not (file.source.has_types and self.loaded.issuperset(self.summed_columns)):
            return file.batches()
        return [self.read(self.summed_columns).replace_schema_metadata(file.schema_metadata)]

    @property
    def schema(self) -> pa.Schema:
        """The columns with their types, as :attr:`read` returns them."""
        return self.read(self.columns).schema if self.types is None else pa.schema(self.types.items())

    def type_of(self, name: str) -> pa.DataType:
        """The type of a column, as :attr:`read` returns it."""
        return self.types[name] if self.types is not None else self.read([name]).schema.field(0).type

    def settings(self, metrics: Sequence[str]) -> dict[str, Any]:
        """The versions and options of these metrics, from the metadata."""
        metadata = self.metadata
        scores = None if metadata.scores is None else {n: metadata.scores[n] for n in metrics if n in metadata.scores}
        declared = {name: self.declared[name].to_json() for name in metadata.declared or () if name in metrics}
        settings = ScoreMetadata(
            version=metadata.version, unicode=metadata.unicode, scores=scores, declared=declared or None
        )
        return settings.to_json()

    def column(self, name: str, purpose: str) -> pa.Array:
        """One column; raises a ``ColumnError`` that states its purpose."""
        if name not in self.columns:
            raise ColumnError(f"{self.name} has no column {name!r} {purpose}; it has {', '.join(self.columns)}")
        return as_array(self.read([name]).column(0), name)

    def values(self, name: str) -> Floats:
        """The scores of one metric, NaN without a score."""
        return as_numbers(self.read([name]).column(0))

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
        listed = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
        listed = listed or pa.types.is_fixed_size_list(column.type)
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
            where = f"column {name!r} of {self.name}"
            others = f"; {len(twice) - 1:,} more ids are duplicates" if len(twice) > 1 else ""
            raise InputError(f"{where}: the id {first!r} occurs in {count:,} rows{others}")

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


def texts_of(column: pa.Array) -> pa.Array:
    """The values of a column as texts, ``null`` for null."""
    if is_text(column.type) or pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return column.cast(pa.large_string()).fill_null("null")
    return pa.array(["null" if value is None else str(value) for value in column.to_pylist()], pa.large_string())


def shared_metrics(runs: Sequence[ScoreRun], requested: Sequence[str], *, counted: bool = False) -> list[str]:
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
    shared = [name for name in runs[0].scores if all(name in run.scores for run in runs)]
    metrics = list(requested) or [name for name in shared if not is_cost(name)] or shared
    metrics += (
        []
        if requested
        else [name for name in by_run[0] if name not in runs[0].scores and all(name in names for names in by_run)]
    )
    if not metrics:
        scores = "; ".join(f"{run.name} has {', '.join(run.scores) or 'none'}" for run in runs[:5])
        raise ColumnError(f"the runs share no score column: {scores}")
    return metrics


def is_unscored(run: ScoreRun, metric: str) -> bool:
    """Whether a run without scores of a metric is a table of answers: its numbers were logged with them."""
    scored = [name for name in declared(run.scores, run.declared) if name not in COLUMNS]
    return bool(declared([metric], {})) and not scored and has_answers(run.columns)


def infinite_notes(counts: Mapping[str, int], run: str = "") -> list[str]:
    """The notes on the numbers of infinite scores of a run's metrics.

    >>> infinite_notes({"ratio": 2, "token_f1": 0})
    ['ratio: 2 infinite scores count as undefined']
    """
    of = run and f"{run}, "
    return [
        f"{of}{name}: {n:,} infinite score{'s count' if n > 1 else ' counts'} as undefined"
        for name, n in counts.items()
        if n
    ]


def bounds_of(runs: Sequence[ScoreRun], names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """The smallest and the largest score of these columns: as declared, or 0 and 1 of columns of booleans."""
    found = declared_bounds(names, first_declared(runs))
    for name in names:
        types = [run.type_of(name) for run in runs if name in run.scores]
        if types and all(map(pa.types.is_boolean, types)):
            found[name] = (0.0, 1.0)
    return found


def first_declared(runs: Sequence[ScoreRun]) -> dict[str, Declared]:
    """The stored declarations of several runs, of each score by the first run that has one."""
    return {name: declaration for run in reversed(runs) for name, declaration in run.declared.items()}


def _check_counted(run: ScoreRun, name: str, counted: bool) -> None:
    """Raise ``ColumnError`` for a corpus metric, which has no scores of rows; its counts serve some readers."""
    spec = run.spec(name)
    if not counted and is_corpus(spec):
        raise ColumnError(f"{name} is a corpus metric: it has one value a table, and no scores of rows")
    if is_counted(spec):
        again = Argument("keep_counts", True)
        raise ColumnError(f"{run.name} has no counts of {name} for each row; score it with --keep-counts (", again, ")")
    if is_corpus(spec):
        raise ColumnError(f"{name} cannot be compared: it depends on all rows at once, not on counts of rows")
