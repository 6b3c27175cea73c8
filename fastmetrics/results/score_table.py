"""One table of scores: the scores, ids, kept columns and metadata of a run, opened once from any form."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
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
    is_text,
    plain_array,
)
from fastmetrics.base.column_names import COLUMNS, is_axis, is_cost, resolve
from fastmetrics.base.errors import (
    Argument,
    ColumnError,
    InputError,
    UnknownColumnError,
    UnknownNameError,
    near_or_all,
)
from fastmetrics.base.notes import Note
from fastmetrics.base.score_metadata import METADATA, ScoreMetadata, counts_column, drift_notes
from fastmetrics.plans.corpus_values import is_corpus, is_counted, lists_read
from fastmetrics.plans.notes import unread_notes
from fastmetrics.plans.stored_metadata import Declared
from fastmetrics.results.main_metric import concern_of
from fastmetrics.results.row_groups import Piece, SortedIds
from fastmetrics.results.score_columns import (
    INCLUSION,
    belonging,
    column_named,
    declared,
    declared_bounds,
    unknown_metric,
)
from fastmetrics.tables.csv_files import as_it_looks
from fastmetrics.tables.good_rows import good_batches
from fastmetrics.tables.readers import batch_of
from fastmetrics.tables.sources import FileSource

UNSCORED = "holds answers, not scores: run `fastmetrics score` (fm.score) first"
"""What is said of a table of answers where scores are expected."""
QUESTION = ("question", *COLUMNS["question"].aliases)


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
    of_texts: frozenset[str] = frozenset()
    """Those of them that are kept columns of text, whose numbers may have a decimal comma."""
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
        return self.metadata.roles(self.columns)

    @cached_property
    def id_column(self) -> str | None:
        """The column with the ids, if there is one."""
        return next(iter(self._roles["id"]), None)

    def key(self, on: str | None) -> str | None:
        """The column that pairs rows: ``on``, where the run read its ids by this name these, or by default the ids."""
        is_named = on in self.columns or on != self.metadata.own_columns.get("id")
        return on if on is not None and is_named else self.id_column

    @cached_property
    def question_column(self) -> str | None:
        """The column with the questions, if the run kept it."""
        own = self.metadata.own_columns.get("question")
        return own if own in self.columns else next((name for name in self.columns if name.lower() in QUESTION), None)

    @cached_property
    def text_columns(self) -> dict[str, str]:
        """The columns with ids, texts and other inputs by their canonical names: as the run named them, or by name."""
        named = {name: own for name, own in self.metadata.own_columns.items() if own in self.columns}
        return resolve(self.columns, {name: own for name, own in named.items() if name in COLUMNS}, needed=())

    def measured(self, beside: Iterable[str | None] = ()) -> list[str]:
        """The scores that are metrics without being asked for: those that the metadata list as scored.

        Without metadata, they are the columns named like metrics, if there are some in a table that has texts of its
        rows; in any other table, all columns of scores.  Ids and segments, which ``beside`` names, are no texts.
        """
        metadata = self.metadata
        if metadata.scored is not None or metadata.metrics is not None:
            known = {*(metadata.scored or ()), *(metadata.metrics or ())}
            known |= {name for name in self.scores if is_axis(name) or name + INCLUSION in self.columns}
        else:
            known = {name for name in self.scores if is_axis(name) or name + INCLUSION in self.columns}
            known |= {*declared(self.scores, self.declared)}
            keys = {*self.scores, *self.key_columns, *self.index, *beside, *map(counts_column, self.counted)}
            keys |= {*belonging(self.columns)}
            if keys.issuperset(self.columns) or known <= COLUMNS.keys():
                known = set()
        return [name for name in self.scores if name in known] or list(self.scores)

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
        named = [name for name in self._roles["setting"] if name not in self.scores]
        return [name for name in named if not pa.types.is_nested(self.type_of(name))]

    @cached_property
    def systems(self) -> tuple[str, list[str]] | None:
        """The column of systems and their names in order of occurrence, if the rows are of several."""
        name = self.metadata.system_of(self.columns)
        names = [] if name is None else [str(one) for one in pc.unique(self.column(name).drop_null()).to_pylist()]
        return (str(name), names) if len(names) > 1 else None

    def keys(self, *others: str | None) -> list[str]:
        """The columns that pair rows: ids, questions, numbers of repeats and rounds, settings, and ``others``."""
        named = (self.key(name) for name in others if name is not None)
        names = (self.id_column, self.question_column, self.repeat_column, self.round_column, *named)
        return [*(name for name in names if name is not None), *self.settings_columns]

    @cached_property
    def summed_columns(self) -> list[str]:
        """The columns that a summary reads: scores, keys, and what the corpus metrics of a file are computed from."""
        lists = [] if self.source is None else [*self._lists, *self._counts]
        return [*self.scores, *lists, *self.key_columns, *belonging(self.columns)]

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
        selection = source.select(kinds_of(source, chosen, self.scores, self.looks))
        metadata = {METADATA: json.dumps(self.metadata.stored)}
        nothing = batch_of(selection.schema)
        places = [(at, name) for at, name in enumerate(nothing.schema.names) if name in plain]
        for at, name in places:
            nothing = nothing.set_column(at, name, pa.array([], plain[name] or pa.list_(pa.float64())))
        yield nothing.replace_schema_metadata(metadata)
        for batch in good_batches(source, selection, any_length=True):
            for at, name in places:
                comma = source.has_decimal_comma or name in self.of_texts
                column = as_it_looks(pa.chunked_array([batch.column(at)]), comma=comma)
                column = column if (type_ := plain[name]) is None else column.cast(type_)
                batch = batch.set_column(at, name, column.combine_chunks())
            yield batch.replace_schema_metadata(metadata)

    def pieces(self) -> Iterable[Piece]:
        """What a summary adds up, with the metadata: the columns in memory, or else the file's batches."""
        if self.is_part:  # the counts of rows in the metadata are those of the whole
            declared = ScoreMetadata(declared=self.metadata.declared, named=self.metadata.named)
            return [self.read(self.summed_columns).replace_schema_metadata(declared.for_schema())]
        if self.source is None:
            return [self.read(self.columns)]
        if not (self.source.has_types and self.loaded.issuperset(self.summed_columns)):
            return self.batches()
        return [self.read(self.summed_columns).replace_schema_metadata({METADATA: json.dumps(self.metadata.stored)})]

    @property
    def _is_whole(self) -> bool:
        """Whether the rows are as many as the metadata count."""
        return self.metadata.rows is not None and self.read(self.columns[:1]).num_rows == self.metadata.rows

    @property
    def n_rejected(self) -> int:
        """The rows that scoring rejected; 0 for a part of the rows that were counted."""
        return self.metadata.n_rejected if self.metadata.n_rejected and self._is_whole else 0

    @property
    def rejected_notes(self) -> list[str]:
        """The note on rows that scoring rejected."""
        return [Note("rejected_rows", n=n)] if (n := self.n_rejected) else []

    @property
    def drift_notes(self) -> list[str]:
        """Notes on fitted scores used far from their labelled rows; none for a part of the rows that were counted."""
        drift = self.metadata.drift
        return (
            [Note("of_run", run=self.name, note=note) for note in drift_notes(drift)]
            if drift and self._is_whole
            else []
        )

    @property
    def unread_notes(self) -> list[str]:
        """Notes on rows that could not be read; none for a part of the rows that were counted."""
        unread, n_rows = self.metadata.unread, self.metadata.rows
        if not unread or n_rows is None or not self._is_whole:
            return []
        return [Note("of_run", run=self.name, note=note) for note in unread_notes(unread, n_rows)]

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
        labels = labels_of(columns)
        return labels if pc.count_distinct(labels).as_py() == n else None

    @cached_property
    def shown_index(self) -> dict[str, str]:
        """The columns of the index by the names that rows show, if a level has a name or they tell rows apart."""
        unnamed = [name for name in self.index if name.startswith("__index_level_")]
        if len(unnamed) == len(self.index) and self.row_labels is None:
            return {}
        shown = {name: name if name not in unnamed else f"level_{at}" for at, name in enumerate(self.index)}
        return {"index" if len(shown) == 1 and unnamed else own: name for name, own in shown.items()}

    def with_texts(self, texts: Sequence[str]) -> ScoreTable:
        """The table with these texts under their canonical names, too."""
        found = {name: own for name, own in self.text_columns.items() if name in texts and own in self.columns}
        also = {name: own for name, own in found.items() if name not in self.columns}
        if not also:
            return self

        def read(names: Sequence[str]) -> pa.Table:
            table = self.read(list(dict.fromkeys(also.get(name, name) for name in names)))
            return pa.table({name: table[also.get(name, name)] for name in names}) if names else table

        types = None if self.types is None else {**self.types, **{name: self.types[also[name]] for name in also}}
        return replace(self, columns=[*self.columns, *also], read=read, types=types, sorted={})

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
            raise UnknownColumnError(f"{self.name} has no column {name!r} {purpose}; {near_or_all(name, self.columns)}")
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


def labels_of(columns: Sequence[pa.Array | pa.ChunkedArray]) -> pa.Array:
    """The labels of an index of one or more levels, as texts."""
    return pa.array(map(str, zip(*(column.to_pylist() for column in columns), strict=True)), pa.large_string())


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The values of a column, which were checked when they were read, in one plain array."""
    kind, chunks = column.type, column.chunks or [pa.array([], column.type)]
    is_plain = pa.types.is_primitive(kind) or pa.types.is_large_string(kind) or pa.types.is_string(kind)
    return pa.concat_arrays(chunks if is_plain else [plain_array(chunk) for chunk in chunks])


def kinds_of(
    source: FileSource, names: Sequence[str], scores: Sequence[str], looks: Mapping[str, pa.DataType]
) -> dict[str, str]:
    """The kind of each column: scores are numbers or flags, or text that is read as it looks."""
    flags = {column.name for column in source.schema if pa.types.is_boolean(column.type)}
    plain = {name for name in names if name not in scores or name in looks}.difference(belonging(names))
    return {name: "any" if name in plain else "flag" if name in flags else "number" for name in names}


# What several tables have in common.


def shared_metrics(
    runs: Sequence[ScoreTable],
    requested: Sequence[str],
    *,
    counted: bool = False,
    beside: Sequence[str | None] = (),
    flags: Sequence[str] = (),
) -> list[str]:
    """The columns to read: the requested ones, or all for which every run has scores (or, if ``counted``, counts).

    The cost of a judge's calls is compared only on request, because every metric makes the correction of p stricter.
    """
    by_run = [[*run.scores, *(run.counted if counted else ())] for run in runs]
    requested = list(dict.fromkeys(column_named(name, by_run[0]) for name in requested))
    for name in requested:
        for run, names in zip(runs, by_run, strict=True):
            if name not in names:
                _check_counted(run, name, counted)
                near = unknown_metric(name, names, run.declared, run.columns).message
                advice = f"; it {UNSCORED}" if is_unscored(run, name) else ""
                raise UnknownNameError(f"{run.name} has no scores of {name!r}: ", near, advice)
    if requested:
        return requested
    taken = {*runs[0].measured(beside), *flags}
    scores = [name for name in runs[0].scores if name in taken and all(name in run.scores for run in runs)]
    metrics = [name for name in scores if not is_cost(name)] or scores
    metrics += [name for name in by_run[0] if name not in runs[0].scores and all(name in names for names in by_run)]
    if not metrics:
        scored = "; ".join(f"{run.name} has {', '.join(run.scores) or 'none'}" for run in runs[:5])
        names = list(dict.fromkeys(name for run in runs for name in run.scores))
        raise ColumnError(f"the runs share no score column: {scored}", *in_one_file(names))
    return metrics


def in_one_file(names: Sequence[str]) -> tuple[Any, ...]:
    """What is said of files with other metrics: how to join those of the same rows."""
    one, every = (Argument("metrics", ",".join(some)) for some in (names[:1], names))
    ways = "; systems are compared by a score that all of them have: score each with the same metric, as in ", one
    return *ways, "; of the same answers, score puts all in one file: ", every


def own_numbers(
    runs: Sequence[ScoreTable], beside: Iterable[str | None], way: str = "metrics= (-m) compares them"
) -> list[str]:
    """The note on numbers of all runs that are no metrics unless they are asked for, in some ``way``."""
    beside = list(beside)
    scored = {*beside}.union(*(run.measured(beside) for run in runs))
    shared = [name for name in runs[0].scores if all(name in run.scores for run in runs)]
    names = [name for name in shared if name not in scored]
    return [Note("own_numbers", names=names, way=way)] if names else []


def lacking_metrics(runs: Sequence[ScoreTable], beside: Iterable[str | None]) -> list[str]:
    """The note on metrics that some runs lack, with the runs that have each."""
    beside = list(beside)
    scored = {run.name: [name for name in run.measured(beside) if name not in beside] for run in runs}
    every = dict.fromkeys(name for names in scored.values() for name in names if not is_cost(name))
    lacking = [name for name in every if not all(name in run.scores for run in runs)]
    having = [f"{name} ({', '.join(run for run in scored if name in scored[run])})" for name in lacking]
    return [Note("lacking_metrics", names=having)] if having else []


def _check_counted(run: ScoreTable, name: str, counted: bool) -> None:
    """Raise ``ColumnError`` for a corpus metric, which has no scores of rows; its counts serve some readers."""
    spec = run.spec(name)
    if not counted and is_corpus(spec):
        raise ColumnError(f"{name} is a corpus metric: it has one value a table, and no scores of rows")
    if is_counted(spec):
        again = Argument("keep_counts", True)
        raise ColumnError(f"{run.name} has no counts of {name} for each row; score it with --keep-counts (", again, ")")
    if is_corpus(spec):
        why = f"{name} cannot be compared: it depends on all rows at once, not on counts of rows"
        raise ColumnError(f"{why}; name other metrics with ", Argument("metrics"))


def is_unscored(run: ScoreTable, metric: str) -> bool:
    """Whether a run without scores of a metric is a table of answers: its numbers were logged with them."""
    scored = [name for name in declared(run.scores, run.declared) if name not in COLUMNS]
    return bool(declared([metric], {})) and not scored and has_answers(run.columns)


def has_answers(names: Iterable[str]) -> bool:
    """Whether a table has a column of answers."""
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
    return [Note("infinite", where=f"{run and run + ', '}{name}", n=n) for name, n in counts.items() if n]
