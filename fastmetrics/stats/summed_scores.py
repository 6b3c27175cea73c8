"""Scores in any form, split by file and summed part by part, with order-independent fingerprints of their rows.

**Fingerprints.** The metadata hold a fingerprint of the ids, and one of ids and questions: the number of rows, and two
sums modulo 2⁶⁴ of a hash of each row. The order of rows does not change it, and fingerprints of parts can be added. It
detects accidents, not forgery. Questions are read for it if a metric reads them, the user keeps them or the run has a
name (``--name``); other runs read no additional column. The start and end of a run are stored only on request
(``--times``): they differ between two runs of the same rows, whose outputs are otherwise the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Floats, Ints, Uint64s, decoded, is_list, plain_table, text_of_arrow
from fastmetrics.base.column_names import adds_up, is_id, is_repeat, is_round, is_setting, is_system
from fastmetrics.base.columns import Frame, aligned_table, index_columns, open_frame
from fastmetrics.base.errors import ColumnError, InputError
from fastmetrics.base.score_metadata import (
    METADATA,
    InputDrift,
    MissingQueries,
    ScoreMetadata,
    UnreadRows,
    add_up,
    counts_column,
    drift_notes,
    summed_drifts,
    unread_in,
)
from fastmetrics.kernels.rankings import hash_texts
from fastmetrics.stats.sums import State

# Order-independent fingerprints of the rows of a run, which can be summed over parts.


_HALF = 64
_ODD, _FIRST, _SECOND = (np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def fingerprint(columns: Sequence[pa.Array]) -> list[int]:
    """The fingerprint of columns: the number of rows, and two sums of a 64-bit hash of each row.

    The hash of a row depends on the texts in the columns and on the positions of the columns; integers are hashed as
    text, nulls are skipped.  The sums of parts add up to those of the whole.

    >>> one, other = fingerprint([pa.array(["a", "b"])]), fingerprint([pa.array(["b", "a"])])
    >>> one == other, fingerprint_text(one) == fingerprint_text([2 * count for count in one])
    (True, False)
    """
    return fingerprint_of_hashes([text_hashes(column) for column in columns])


def fingerprint_of_hashes(columns: Sequence[Uint64s]) -> list[int]:
    """The fingerprint of columns with these hashes of their rows, as ``text_hashes`` gives them."""
    rows = len(columns[0])
    first, second = (np.full(rows, start) for start in (_FIRST, _SECOND))
    for keys in columns:
        first, second = _mixed((first ^ keys) * _ODD), _mixed((second + keys) * _FIRST)
    return [rows, *(_sum(numbers) for numbers in (first, second))]


def fingerprint_text(sums: Sequence[int]) -> str:
    """The fingerprint as text: the number of rows, and both sums modulo 2⁶⁴ as 32 hexadecimal digits."""
    rows, first, second = sums
    return f"{rows:x}-{first % (1 << _HALF):016x}{second % (1 << _HALF):016x}"


def is_hashable(type_: pa.DataType) -> bool:
    """Whether a column of this type has a fingerprint: texts and integers."""
    if pa.types.is_dictionary(type_):
        return is_hashable(type_.value_type)
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return pa.types.is_null(type_) or pa.types.is_integer(type_) or any(test(type_) for test in texts)


def text_hashes(column: pa.Array) -> Uint64s:
    """A 64-bit hash per text, or per integer as text; 0 for null.  Of other types, the hash of the value's text."""
    array = decoded(column)
    if not is_hashable(array.type):
        array = pa.array([None if value is None else str(value) for value in array.to_pylist()], pa.large_string())
    text = text_of_arrow(array.cast(pa.large_string()) if pa.types.is_integer(array.type) else array, "column")
    keys: Uint64s = hash_texts(
        text.data, np.ascontiguousarray(text.starts), np.ascontiguousarray(text.stops), np.uint64(0)
    )
    return np.where(text.valid, keys, np.uint64(0))


def _mixed(numbers: Uint64s) -> Uint64s:
    """Numbers in which every bit depends on all bits of the given ones."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _FIRST
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _SECOND
    return numbers ^ (numbers >> np.uint64(31))


def _sum(numbers: Uint64s) -> int:
    return int(np.add.reduce(numbers, dtype=np.uint64))


# Answers of several rounds, each of which is a row: their tokens and prices add up.


def answers_of_rounds(questions: Ints, repeats: Ints | None) -> Ints | None:
    """The number of each row's answer where rows of one id, and of one repeat, are rounds; None if each has one row.

    ``questions`` are the numbers of the rows' ids, −1 without one, ``repeats`` those of several answers to a question.

    >>> answers_of_rounds(np.array([0, 0, 1]), None)
    array([0, 0, 1])
    >>> answers_of_rounds(np.array([0, 0, 1]), np.array([0, 1, 0])) is None
    True
    """
    known = questions >= 0
    keys = questions if repeats is None else questions * (int(repeats.max(initial=0)) + 1) + repeats
    if len(np.unique(keys[known])) == int(known.sum()):
        return None
    answers = np.empty(len(questions), np.int64)
    _, answers[known] = np.unique(keys[known], return_inverse=True)
    answers[~known] = answers[known].max() + 1 + np.arange(int((~known).sum()))
    return answers


def added_up(values: Floats, answers: Ints) -> Floats:
    """The sum of the values of each answer, by its number; NaN if one is missing, since the sum would be too small.

    >>> added_up(np.array([110.0, 220.0, 55.0]), np.array([0, 0, 1]))
    array([330.,  55.])
    """
    order = np.lexsort((values, answers))  # makes the sums independent of the order of the rows
    return np.bincount(answers[order], values[order]).astype(np.float64, copy=False)


@dataclass(frozen=True)
class Repeats:
    """The number of each row's question, where some have several rows, and of its answer, where rows are rounds."""

    questions: Ints
    answers: Ints | None = None
    are_numbered: bool = False
    """Whether a column numbers the repeats or the rounds."""

    def note(self, added: bool) -> str:
        """How many rows the questions have, and what that means for a mean; ``added`` if some columns add up."""
        return repeats_note(np.bincount(self.questions), added and self.answers is not None, self.are_numbered)


def repeats_note(counts: Ints, rounds: bool, numbered: bool) -> str:
    """How many rows the questions have, of which these are the counts, and what that means for a mean.

    >>> repeats_note(np.array([1, 2]), False, True)
    "1 to 2 answers to each of 2 questions; a question's score is their mean"
    """
    least, most = int(counts.min()), int(counts.max())
    many = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    rows = "rounds in the rows of" if rounds else "answers to"
    mean = "their mean" + (", of tokens and prices their sum" if rounds else "")
    doubled = "" if least == most or numbered else "; rows doubled by a broken resume look the same"
    return f"{many} {rows} each of {len(counts):,} questions; a question's score is {mean}{doubled}"


class RowKeys:
    """The columns of a table, added batch by batch, that tell which rows answer one question.

    They do with the same id, system and parameters (:func:`fastmetrics.base.column_names.is_setting`); a row without
    an id is a question of its own.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._id, self._repeat = (next((name for name in names if is_key(name)), None) for is_key in (is_id, is_repeat))
        self._settings = [name for name in names if is_setting(name)] if self._id is not None else []
        self._has_rounds = any(map(is_round, names))
        self._keys: dict[str, list[Uint64s]] = {}

    def add(self, piece: Piece) -> None:
        """Add the keys of some rows."""
        for name in (self._id, self._repeat, *self._settings):
            if name is not None and self._id is not None:
                column = piece.column(name)
                chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
                self._keys.setdefault(name, []).extend(map(text_hashes, chunks))

    def repeats(self) -> Repeats | None:
        """Which rows answer one question; None if each row answers its own."""
        ids, repeats = self._of(self._id), self._of(self._repeat)
        for place, name in enumerate(self._settings, 1):  # odd factors part sums of equal hashes
            ids = np.where(ids == 0, 0, ids + self._of(name) * np.uint64(0x9E3779B97F4A7C15 + 2 * place))
        known = ids != 0
        if not (np.diff(np.sort(ids[known])) == 0).any():
            return None
        questions = np.full(len(ids), -1, np.int64)
        questions[known] = np.unique(ids[known], return_inverse=True)[1]
        numbers = np.unique(repeats, return_inverse=True)[1] if len(repeats) else None
        answers = answers_of_rounds(questions, numbers) if self._has_rounds else None
        questions[~known] = questions.max() + 1 + np.arange(int((~known).sum()))
        return Repeats(questions, answers, numbers is not None or self._has_rounds)

    def _of(self, name: str | None) -> Uint64s:
        return np.concatenate([*self._keys.get(name or "", []), np.zeros(0, np.uint64)])


def systems_of(piece: Piece) -> list[str]:
    """The names of the systems that some rows name, if they do."""
    name = next((name for name in piece.schema.names if is_system(name)), None)
    return [] if name is None else [str(one) for one in piece.column(name).unique().to_pylist() if one is not None]


def pooled_note(systems: Iterable[str]) -> list[str]:
    """The note on means over the rows of several systems."""
    names = list(systems)
    shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    ways = "by='system' (--by system) shows each, compare(system='system') compares them"
    return [f"the rows of {len(names):,} systems are pooled ({shown}); {ways}"] if len(names) > 1 else []


# Scores in any form, split by file and summed part by part.


Piece: TypeAlias = "pa.Table | pa.RecordBatch"


@dataclass(frozen=True)
class Scores:
    """Consecutive tables and record batches; ``again`` says whether they can be read a second time."""

    read: Callable[[], Iterable[Piece]]
    again: bool
    notes: Sequence[str] = ()
    """The columns that were left out, and why."""

    @classmethod
    def of(cls, scores: Any, needed: Collection[str] = (), name: str = "scores") -> Scores:
        """The source for any input of ``summarize``; raises ``InputError`` for anything else.

        A column that cannot be read, such as mixed objects, is left out unless it is ``needed``.
        """
        if type(scores).__module__.startswith(("ray.data", "pyspark.")):
            way = "write it as Parquet, and name the folder"
            raise InputError(f"{name}: a {type(scores).__name__} is in the workers of a cluster; {way}")
        if isinstance(scores, pa.Table | pa.RecordBatch):
            return cls(lambda: _pieces([scores]), again=True)
        if isinstance(scores, pa.RecordBatchReader):
            return cls(lambda: _with_schema(scores), again=False)
        if callable(scores):
            return cls(lambda: _pieces(scores()), again=True)
        if isinstance(scores, Mapping) or any(
            hasattr(type(scores), attribute) for attribute in ("columns", "__arrow_c_stream__")
        ):
            return cls._of_frame(open_frame(scores), needed)
        if isinstance(scores, list | tuple) and scores and isinstance(scores[0], Mapping):
            return cls._of_frame(open_frame(scores), needed)
        if isinstance(scores, Iterable) and not isinstance(scores, str | bytes):
            once = isinstance(scores, Iterator) or any(isinstance(item, pa.RecordBatchReader) for item in scores)
            return cls(lambda: _pieces(scores), again=not once)
        raise InputError(f"{name}: expected a table of scores, got {type(scores).__name__}")

    @classmethod
    def _of_frame(cls, frame: Frame, needed: Collection[str]) -> Scores:
        columns, notes = {}, []
        for name in dict.fromkeys(frame.names):
            try:
                columns[name] = pa.concat_tables(frame.read([name])[1]).column(0)
            except ColumnError as error:
                if name in needed:
                    raise
                notes.append(f"left out: {error}")
        table = aligned_table(columns)
        if isinstance(stored := frame.attributes.get(METADATA.decode()), str):  # of ``fm.with_scores``
            table = table.replace_schema_metadata({METADATA: stored})
        return cls(lambda: [table], again=True, notes=notes)

    def table(self) -> pa.Table:
        """Everything in one table."""
        pieces = [p if isinstance(p, pa.Table) else pa.Table.from_batches([p]) for p in self.read()]
        return pa.concat_tables(pieces) if pieces else pa.table({})


def _with_schema(reader: pa.RecordBatchReader) -> Iterator[Piece]:
    yield plain_table(reader.schema.empty_table())
    yield from map(plain_table, reader)


def _pieces(items: Iterable[Any]) -> Iterator[Piece]:
    for place, item in enumerate(items):
        if isinstance(item, pa.RecordBatchReader):
            yield from _with_schema(item)
        elif isinstance(item, pa.Table | pa.RecordBatch):
            yield plain_table(item)
        else:
            raise InputError(f"item {place}: expected an Arrow table or record batch, got {type(item).__name__}")


def score_columns(schema: pa.Schema) -> list[str]:
    """The names of the score columns: numeric and boolean columns except ``id``, ``repeat``, ``round``, parameters such
    as ``temperature``, and the pandas index.

    Integer and boolean columns that the metadata do not list as metrics were kept by a run and are not scores.

    >>> score_columns(pa.schema({"id": pa.int64(), "token_f1": pa.float64(), "passed": pa.bool_(), "why": pa.string()}))
    ['token_f1', 'passed']
    """
    labels = index_columns(schema)
    metadata = ScoreMetadata.of_schema(schema)
    if metadata.n_rows is not None and not metadata.metrics:
        return []  # the file contains corpus metrics only
    kinds = _KINDS[:1] if metadata.metrics else _KINDS
    keys = {name for name in schema.names if is_id(name) or is_repeat(name) or is_round(name) or is_setting(name)}
    others = [field for field in schema if field.name not in keys and field.name not in labels]
    return [field.name for field in others if any(kind(field.type) for kind in kinds)]


def list_columns(schema: pa.Schema) -> list[str]:
    """The names of list columns, in which a run stores data of each row for corpus metrics."""
    return [field.name for field in schema if is_list(field.type)]


_KINDS = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)


class Sums:
    """Summed parts: a state per score column, the counts of the corpus metrics, and notes on problems."""

    def __init__(self, notes: Iterable[str] = ()) -> None:
        self.n_rows = 0
        self.states: dict[str, State] = {}
        self.lists: set[str] = set()
        """The list columns that every part has."""
        self.cautions: list[tuple[Mapping[str, Any], dict[str, list[int]]]] = []
        """The counts of cautions, summed over the parts whose metrics have the same options."""
        self.unread: UnreadRows = {}
        """The rows that could not be read, of parts whose metadata count them."""
        self._drifts: list[Mapping[str, InputDrift]] = []
        """Per part, the distributions of the metrics that fitted scores read."""
        self._missing_queries: dict[str, MissingQueries] = {}
        """The judged queries that evaluated runs lack, summed over the parts with the same rule."""
        self.declared: dict[str, Any] = {}
        """The stored declarations of scores."""
        self._counts: dict[str, list[list[int]]] = {}
        self._rows_behind: dict[str, list[int]] = {}
        self._n_parts = 0
        self._repeats: list[tuple[int, Repeats | None]] = []
        """Per part, its number of rows, and which of them answer one question."""
        self._systems: dict[str, None] = {}
        self._names: list[str] | None = None
        self._notes: dict[str, None] = dict.fromkeys(notes)
        self._part: _Part | None = None

    def add(self, piece: Piece) -> None:
        """Add one table or batch; batches of one file are adjacent and have its metadata."""
        names = score_columns(piece.schema)
        if self._names is None:
            self._names = names
            self.states = {name: State() for name in names}
            self.lists = set(list_columns(piece.schema))
        self.lists &= set(list_columns(piece.schema))
        if len(set(names)) < len(names):
            raise ColumnError(f"two score columns have the same name; found {', '.join(map(repr, names))}")
        if names != self._names:
            differing = sorted(set(names) ^ set(self._names)) or names
            raise ColumnError(f"the parts differ in their score columns: {', '.join(map(repr, differing))}")
        metadata = (piece.schema.metadata or {}).get(METADATA)
        if self._part is not None and (self._part.text != metadata or (self._part.whole and piece.num_rows)):
            self.close()
        if self._part is None:
            self._part = _Part(metadata, names, piece.schema)
            self._declare(self._part.metadata.declared or {})
        self._part.add(piece)
        self._systems |= dict.fromkeys(systems_of(piece))

    def close(self) -> None:
        """End the current part, whose number of rows is then known."""
        if self._part is None:
            return
        part, self._part = self._part, None
        if part.whole:
            self.unread = unread_in([(self.unread, self.n_rows), (part.metadata.unread or {}, part.n_rows)])
        self.n_rows += part.n_rows
        if part.n_rows or part.metadata.counts:
            self._n_parts += 1
        repeats = part.keys.repeats()
        self._repeats.append((part.n_rows, repeats))
        if part.added and repeats is not None and not repeats.are_numbered:
            self._notes[
                f"{', '.join(part.added)}: rows of one id are taken as answers of their own; a column 'round' would "
                "say that they are rounds, which add up"
            ] = None
        for name, state in part.states.items():
            note = part.settle(name)
            if note:
                self._notes[note] = None
            if part.whole:
                state.add_errors(part.metadata.n_rejected or 0)
            self.states[name] = self.states[name].merge(state)
        for name, vector in part.counts.items():
            self._counts.setdefault(name, []).extend([] if vector is None else [vector])
        for name, n in part.rows_behind.items():
            self._rows_behind.setdefault(name, []).append(n)
        if part.has_other_ids and None in part.counts.values():
            self._notes["the rows are not those that were scored, by the fingerprint of their ids"] = None
        lacking = part.metadata.missing_queries
        if part.whole and lacking is not None:
            before = self._missing_queries.get(lacking.rule, MissingQueries(0, 0, lacking.rule))
            self._missing_queries[lacking.rule] = before + lacking
        self._drifts += [part.metadata.drift] if part.whole and part.metadata.drift else []
        settings = part.metadata.options or {}
        alike = [counts for options, counts in self.cautions if options == settings]
        others = [entry for entry in self.cautions if entry[0] != settings]
        self.cautions = [*others, (settings, add_up([*alike, part.cautions]))]

    def _declare(self, declared: Mapping[str, Any]) -> None:
        """Add the declarations of a part; raises ``ColumnError`` if another part declares a score otherwise."""
        for name, declaration in declared.items():
            if self.declared.setdefault(name, declaration) != declaration:
                raise ColumnError(f"the parts declare {name!r} differently: {self.declared[name]} and {declaration}")

    @property
    def added(self) -> list[str]:
        """The columns whose numbers add up over the rounds of an answer."""
        return columns_that_add_up(self.states, self.declared)

    @cached_property
    def repeats(self) -> Repeats | None:
        """Which rows answer one question, if any part has such rows; those of different parts do not."""
        several = [repeats for _, repeats in self._repeats if repeats is not None]
        if not several:
            return None
        rows = [(n_rows, np.arange(n_rows), repeats) for n_rows, repeats in self._repeats]
        questions = [each if repeats is None else repeats.questions for _, each, repeats in rows]
        answers = None
        if any(repeats.answers is not None for repeats in several):
            own = [each if repeats is None or repeats.answers is None else repeats.answers for _, each, repeats in rows]
            answers = _one_after_another(own)
        numbered = all(repeats.are_numbered for repeats in several)
        return Repeats(_one_after_another(questions), answers, numbered)

    @property
    def counts(self) -> dict[str, list[int]]:
        """The summed counts of each corpus metric that every part has."""
        complete = {name: vectors for name, vectors in self._counts.items() if not self._is_torn(vectors)}
        return {name: [sum(column) for column in zip(*vectors, strict=True)] for name, vectors in complete.items()}

    @property
    def rows_behind(self) -> dict[str, int]:
        """The rows with counts of each corpus metric in :attr:`counts`, if they are known of every part."""
        return {name: sum(rows) for name, rows in self._rows_behind.items() if len(rows) == self._n_parts}

    @property
    def corpus(self) -> list[str]:
        """The corpus metrics in any part so far."""
        return [*self._counts, *(() if self._part is None else self._part.metadata.counts or ())]

    @property
    def notes(self) -> list[str]:
        """The notes for the reader of the sums."""
        torn = [name for name, vectors in self._counts.items() if self._is_torn(vectors)]
        left_out = f"left out, because some parts lack the counts of their rows: {', '.join(torn)}"
        lacking = [note for queries in self._missing_queries.values() for note in queries.notes]
        drift = drift_notes(summed_drifts(self._drifts))
        pooled = pooled_note(self._systems)
        joined = [] if self.repeats is None else [self.repeats.note(bool(self.added))]
        return [*self._notes, *pooled, *joined, *([left_out] if torn else []), *lacking, *drift]

    def _is_torn(self, vectors: list[list[int]]) -> bool:
        return len(vectors) != self._n_parts or len({len(vector) for vector in vectors}) != 1


def columns_that_add_up(names: Iterable[str], declared: Mapping[str, Any]) -> list[str]:
    """The columns of tokens and prices among those with these names and stored declarations."""
    return [name for name in names if adds_up(str(declared.get(name, {}).get("spec", name)))]


class _Part:
    """The rows of one file: their sums, and its metadata."""

    def __init__(self, text: bytes | None, names: Iterable[str], schema: pa.Schema) -> None:
        self.text = text
        self.metadata = ScoreMetadata.of_text(text)
        self.n_rows = 0
        self.states = {name: State() for name in names}
        stored = self.metadata.counts or {}
        lists = set(list_columns(schema))
        self._stored_by_row = {
            name: [0] * len(vector) for name, vector in stored.items() if counts_column(name) in lists
        }
        """The sums over the columns of counts; empty for a column without one list of integers per row."""
        self._rows_counted = dict.fromkeys(self._stored_by_row, 0)
        alone = [name for name in stored if name not in self._stored_by_row]
        has_ids = alone and "ids" in (self.metadata.fingerprint or {})
        self._id = next((name for name in schema.names if is_id(name)), None) if has_ids else None
        self._ids = [0, 0, 0]
        """The sums of the fingerprint of the ids, if it tells whether the rows are those that the metadata count."""
        self.added = columns_that_add_up(self.states, self.metadata.declared or {})
        self.keys = RowKeys(schema.names)

    def add(self, piece: Piece) -> None:
        self.n_rows += piece.num_rows
        self.keys.add(piece)
        for name, state in self.states.items():
            state.add(piece.column(name))
        for name, sums in self._stored_by_row.items():
            column = piece.column(counts_column(name))
            self._stored_by_row[name] = _added_counts(sums, column)
            self._rows_counted[name] += len(column) - column.null_count
        if self._id is not None:
            column = piece.column(self._id)
            for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
                self._ids = [a + b for a, b in zip(self._ids, fingerprint([chunk]), strict=True)]

    @property
    def whole(self) -> bool:
        """Whether these are exactly the rows described by the metadata."""
        return self.n_rows == self.metadata.rows

    @property
    def has_other_ids(self) -> bool:
        """Whether the ids of the rows are known to differ from those that the metadata count."""
        return self._id is not None and fingerprint_text(self._ids) != (self.metadata.fingerprint or {})["ids"]

    @property
    def counts(self) -> dict[str, list[int] | None]:
        """The counts of each corpus metric over these rows, None if unknown.

        They are the sums of the column of counts, which keeps to its rows when a table is filtered or sorted.  Without
        one, they are those of the metadata, if these describe the rows.
        """
        described = self.whole and not self.has_other_ids
        stored = self.metadata.counts or {}
        in_metadata = {name: vector if described else None for name, vector in stored.items()}
        return {**in_metadata, **{name: sums or None for name, sums in self._stored_by_row.items()}}

    @property
    def rows_behind(self) -> dict[str, int]:
        """The rows with counts of each corpus metric, of those for which they are known."""
        described = {name: rows for name, (_, rows) in (self.metadata.cautions or {}).items() if self.whole}
        in_metadata = {name: rows for name, rows in described.items() if self.counts.get(name) is not None}
        return {**in_metadata, **self._rows_counted}

    @property
    def cautions(self) -> dict[str, list[int]]:
        """Per score, the number of rows with its caution (none if unknown), and the number of scored rows."""
        scored = {name: [0, state.n + state.n_undefined] for name, state in self.states.items()}
        return {**scored, **((self.metadata.cautions or {}) if self.whole else {})}

    def settle(self, name: str) -> str | None:
        """Split a column's nulls as the metadata count them; add a note if that is impossible."""
        state, counts = self.states[name], (self.metadata.metrics or {}).get(name)
        if counts is None or state.n_missing == 0:
            return None
        if counts.n_rows != self.n_rows:
            rows = f"{counts.n_rows:,} rows, but there are {self.n_rows:,}"
            return f"every null is counted as missing: the metadata describe {rows}"
        if counts.n_missing + counts.n_undefined + counts.n_error != state.n_missing:
            return f"every null of {name} is counted as missing: the metadata do not count {state.n_missing:,} nulls"
        state.tell_apart(counts.n_undefined, counts.n_error)
        return None


def _one_after_another(parts: Sequence[Ints]) -> Ints:
    """Numbers of the groups of the rows of several parts, which share no group."""
    starts = np.cumsum([0, *(int(numbers.max(initial=-1)) + 1 for numbers in parts)])
    return np.concatenate([numbers + start for numbers, start in zip(parts, starts[:-1], strict=True)])


def _added_counts(sums: Sequence[int], column: pa.Array | pa.ChunkedArray) -> list[int]:
    """The sums with those of a column of lists of integers added; empty if its lists are not as long as the sums."""
    present = column.drop_null()
    if not len(present) or not sums:
        return list(sums)
    flat = pc.list_flatten(present)
    lengths = pc.unique(pc.list_value_length(present)).to_pylist()
    if lengths != [len(sums)] or not pa.types.is_integer(flat.type) or flat.null_count:
        return []
    added = flat.to_numpy().reshape(-1, len(sums)).sum(axis=0)
    return [a + b for a, b in zip(sums, added.tolist(), strict=True)]
