"""The sums of the rows of one or several tables, added piece by piece, with what their metadata say of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Ints
from fastmetrics.base.column_names import adds_up, is_id
from fastmetrics.base.errors import ColumnError, some
from fastmetrics.base.notes import Note, said
from fastmetrics.base.score_metadata import (
    METADATA,
    MissingQueries,
    ScoreMetadata,
    UnreadRows,
    add_up,
    counts_column,
    drift_notes,
    summed_drifts,
    unread_in,
)
from fastmetrics.results.row_groups import Piece, Repeats, RowKeys, chunks_of
from fastmetrics.results.score_columns import (
    INCLUSION,
    has_numbers,
    list_columns,
    score_columns,
)
from fastmetrics.results.score_table import ScoreTable, in_one_file
from fastmetrics.stats.fingerprints import fingerprint, fingerprint_text
from fastmetrics.stats.sums import State
from fastmetrics.tables.resume import RunDifference, described_inputs, differences


def systems_of(piece: Piece) -> list[tuple[str, str]]:
    """The column and the names of the systems that some rows name, if they do."""
    column = ScoreMetadata.of_schema(piece.schema).system_of(piece.schema.names)
    found = [] if column is None else piece.column(column).unique().to_pylist()
    return [(str(column), str(one)) for one in found if one is not None]


def pooled_note(systems: Iterable[tuple[str, str]]) -> list[str]:
    """The note on means over the rows of several systems, each with its column."""
    named = list(systems)
    names = [name for _, name in named]
    return said(len(named) > 1 and Note("pooled_systems", n=len(named), names=names, column=named[0][0]))


def pooled_systems(run: ScoreTable, by: Sequence[str] = ()) -> list[str]:
    """The same of an opened run, unless it is divided by its systems."""
    column, names = run.systems or ("", [])
    return [] if column in by else pooled_note((column, name) for name in names)


class Sums:
    """The sums of consecutive pieces of a table: a state per score column, counts of corpus metrics, and notes."""

    def __init__(self, notes: Iterable[str] = (), asked: Sequence[str] = ()) -> None:
        self._asked = asked
        """The kept columns whose numbers are scores, too."""
        self.states: dict[str, State] = {}
        self.lists: set[str] = set()
        """The list columns that every piece has."""
        self.drawn: list[str] = []
        """The score columns of which few rows were drawn."""
        self.declared: dict[str, Any] = {}
        """The stored declarations of scores."""
        self._parts: list[_Part] = []
        self._schema: pa.Schema | None = None
        """The columns and metadata of the last piece."""
        self._systems: dict[tuple[str, str], None] = {}
        self._notes: dict[str, None] = dict.fromkeys(notes)

    def add(self, piece: Piece) -> None:
        """Add one table or batch; batches of one file are adjacent and have its metadata."""
        if self._schema is None or not self._schema.equals(piece.schema, check_metadata=True):
            self._check(piece.schema)
        text = (piece.schema.metadata or {}).get(METADATA)
        part = self._parts[-1] if self._parts else None
        if part is None or part.text != text or (part.whole and piece.num_rows):
            self.close()
            part = _Part(text, self.states, piece.schema)
            self._parts.append(part)
            for name, declaration in (part.metadata.declared or {}).items():
                if self.declared.setdefault(name, declaration) != declaration:
                    known = self.declared[name]
                    keys = [key for key in {**known, **declaration} if known.get(key) != declaration.get(key)]
                    two = ", ".join(f"{key} is {known.get(key)!r} and {declaration.get(key)!r}" for key in keys)
                    raise ColumnError(f"the parts declare {name!r} differently: {two}; score all parts alike")
        part.add(piece)
        self._systems |= dict.fromkeys(systems_of(piece))

    def _check(self, schema: pa.Schema) -> None:
        """Raise ``ColumnError`` for a piece with other score columns than the pieces before."""
        names, lists = score_columns(schema), set(list_columns(schema))
        names += [
            name
            for name in self._asked
            if name in schema.names and name not in names and has_numbers(schema.field(name).type)
        ]
        if self._schema is None:
            self.states, self.lists = {name: State() for name in names}, lists
        self.lists &= lists
        self.drawn = [name for name in names if name + INCLUSION in schema.names]
        if len(set(names)) < len(names):
            raise ColumnError(f"two score columns have the same name; found {', '.join(map(repr, names))}")
        if names != list(self.states):
            differing = sorted(set(names) ^ self.states.keys()) or names
            what = f"the parts differ in their score columns: {', '.join(map(repr, differing))}"
            raise ColumnError(what, *in_one_file(sorted({*names, *self.states})))
        self._schema = schema

    def close(self) -> None:
        """End the current part, whose number of rows is then known."""
        if self._parts:
            self._notes |= dict.fromkeys(self._parts[-1].close())
            for name, state in self._parts[-1].states.items():
                self.states[name] = self.states[name].merge(state)
            self._parts[-1].states = {}

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(part.n_rows for part in self._parts)

    @property
    def n_rejected(self) -> int:
        """The rows that scoring rejected, of parts whose metadata count them."""
        return sum(part.metadata.n_rejected or 0 for part in self._parts if part.whole)

    @property
    def unread(self) -> UnreadRows:
        """The rows that could not be read, of parts whose metadata count them."""
        unread: UnreadRows = {}
        for place, part in enumerate(self._parts):
            if part.whole:
                before = sum(other.n_rows for other in self._parts[:place])
                unread = unread_in([(unread, before), (part.metadata.unread or {}, part.n_rows)])
        return unread

    @property
    def cautions(self) -> list[tuple[Mapping[str, Any], dict[str, list[int]]]]:
        """The counts of cautions, summed over the parts whose metrics have the same options."""
        summed: list[tuple[Mapping[str, Any], dict[str, list[int]]]] = []
        for part in self._parts:
            settings = part.metadata.options or {}
            alike = [counts for options, counts in summed if options == settings]
            others = [entry for entry in summed if entry[0] != settings]
            summed = [*others, (settings, add_up([*alike, part.cautions]))]
        return summed

    @property
    def added(self) -> list[str]:
        """The columns whose numbers add up over the rounds of an answer."""
        return columns_that_add_up(self.states, self.declared)

    @cached_property
    def repeats(self) -> Repeats | None:
        """Which rows answer one question, if any part has such rows; those of different parts do not."""
        several = [part.repeats for part in self._parts if part.repeats is not None]
        if not several:
            return None
        each = [part.repeats or Repeats(np.arange(part.n_rows)) for part in self._parts]
        questions = _one_after_another([repeats.questions for repeats in each])
        has_answers = any(repeats.answers is not None for repeats in several)
        answers = [np.arange(len(one.questions)) if one.answers is None else one.answers for one in each]
        numbered = all(repeats.are_numbered for repeats in several)
        return Repeats(questions, _one_after_another(answers) if has_answers else None, numbered)

    @property
    def corpus(self) -> list[str]:
        """The corpus metrics in any part so far."""
        return list(dict.fromkeys(name for part in self._parts for name in part.metadata.counts or ()))

    @property
    def counts(self) -> dict[str, list[int]]:
        """The summed counts of each corpus metric that every part has."""
        vectors = {name: [part.counts.get(name) or [] for part in self._counted] for name in self.corpus}
        return {
            name: [sum(column) for column in zip(*parts, strict=True)]
            for name, parts in vectors.items()
            if parts and all(parts) and len(set(map(len, parts))) == 1
        }

    @property
    def _counted(self) -> list[_Part]:
        """The parts that have rows or counts of them."""
        return [part for part in self._parts if part.n_rows or part.metadata.counts]

    @property
    def rows_behind(self) -> dict[str, int]:
        """The rows with counts of each corpus metric in :attr:`counts`, if they are known of every part."""
        names = dict.fromkeys(name for part in self._parts for name in part.rows_behind)
        every = {name: [part.rows_behind[name] for part in self._parts if name in part.rows_behind] for name in names}
        return {name: sum(rows) for name, rows in every.items() if len(rows) == len(self._counted)}

    @property
    def notes(self) -> list[str]:
        """The notes for the reader of the sums."""
        torn = [name for name in self.corpus if name not in self.counts]
        whole = [part.metadata for part in self._parts if part.whole]
        lacking: dict[str, MissingQueries] = {}
        for queries in (metadata.missing_queries for metadata in whole):
            if queries is not None:
                lacking[queries.rule] = lacking.get(queries.rule, MissingQueries(0, 0, queries.rule)) + queries
        drift = drift_notes(summed_drifts([metadata.drift for metadata in whole if metadata.drift]))
        joined = [] if self.repeats is None else [self.repeats.note(bool(self.added))]
        of_queries = [note for queries in lacking.values() for note in queries.notes]
        return [
            *self._notes,
            *pooled_note(self._systems),
            *joined,
            *said(torn and Note("torn", names=torn)),
            *of_queries,
            *drift,
        ]


def columns_that_add_up(names: Iterable[str], declared: Mapping[str, Any]) -> list[str]:
    """The columns of tokens and prices among those with these names and stored declarations."""
    return [name for name in names if adds_up(str(declared.get(name, {}).get("spec", name)))]


class _Part:
    """The rows of one file: their sums, and its metadata; most are known when it is closed."""

    def __init__(self, text: bytes | None, names: Iterable[str], schema: pa.Schema) -> None:
        self.text = text
        self.metadata = ScoreMetadata.of_text(text)
        self.n_rows = 0
        self.states = {name: State() for name in names}
        self.repeats: Repeats | None = None
        self.counts: dict[str, list[int] | None] = {}
        """The counts of each corpus metric over these rows, None if unknown."""
        self.rows_behind: dict[str, int] = {}
        """The rows with counts of each corpus metric, of those for which they are known."""
        self.cautions: dict[str, list[int]] = {}
        """Per score, the number of rows with its caution (none if unknown), and the number of scored rows."""
        stored, lists = self.metadata.counts or {}, list_columns(schema)
        self._by_row = {name: [0] * len(vector) for name, vector in stored.items() if counts_column(name) in lists}
        """The sums over the columns of counts; empty for a column without one list of integers per row."""
        self._rows_counted = dict.fromkeys(self._by_row, 0)
        has_ids = stored.keys() - self._by_row.keys() and "ids" in (self.metadata.fingerprint or {})
        self._id = next((name for name in schema.names if is_id(name)), None) if has_ids else None
        self._ids = [0, 0, 0]
        """The sums of the fingerprint of the ids, if it tells whether the rows are those that the metadata count."""
        self._keys = RowKeys(self.metadata.roles(schema.names))

    def add(self, piece: Piece) -> None:
        self.n_rows += piece.num_rows
        self._keys.add(piece)
        for name, state in self.states.items():
            state.add(piece.column(name))
        for name, sums in self._by_row.items():
            column = piece.column(counts_column(name))
            self._by_row[name] = _added_counts(sums, column)
            self._rows_counted[name] += len(column) - column.null_count
        for chunk in () if self._id is None else chunks_of(piece.column(self._id)):
            self._ids = [a + b for a, b in zip(self._ids, fingerprint([chunk]), strict=True)]

    @property
    def whole(self) -> bool:
        """Whether these are exactly the rows described by the metadata."""
        return self.n_rows == self.metadata.rows

    def close(self) -> list[str]:
        """Split nulls as the metadata count them, and the notes on the part.

        The counts of a corpus metric are the sums of their column, which keeps to its rows when a table is filtered or
        sorted.  Without one, they are those of the metadata, if these describe the rows.
        """
        metadata, notes = self.metadata, list[str]()
        self.repeats = self._keys.repeats()
        added = columns_that_add_up(self.states, metadata.declared or {})
        if added and self.repeats is not None and not self.repeats.are_numbered:
            notes.append(Note("no_rounds", names=added))
        for name, state in self.states.items():
            notes += self._settled(name, state)
            if self.whole:
                state.add_errors(metadata.n_rejected or 0)
        has_other_ids = self._id is not None and fingerprint_text(self._ids) != (metadata.fingerprint or {})["ids"]
        described = self.whole and not has_other_ids
        in_metadata = {name: vector if described else None for name, vector in (metadata.counts or {}).items()}
        self.counts = {**in_metadata, **{name: sums or None for name, sums in self._by_row.items()}}
        if has_other_ids and None in self.counts.values():
            notes.append(Note("not_the_scored"))
        cautions = (metadata.cautions or {}) if self.whole else {}
        known = {name: rows for name, (_, rows) in cautions.items() if self.counts.get(name) is not None}
        self.rows_behind = {**known, **self._rows_counted}
        scored = {name: [0, state.n + state.n_undefined] for name, state in self.states.items()}
        self.cautions = {**scored, **cautions}
        return notes

    def _settled(self, name: str, state: State) -> list[str]:
        """A note on a column whose nulls cannot be split as the metadata count them."""
        counts = (self.metadata.metrics or {}).get(name)
        if counts is None or state.n_missing == 0:
            return []
        if counts.n_rows != self.n_rows:
            rows = f"{counts.n_rows:,} rows, but there are {self.n_rows:,}"
            return [f"every null is counted as missing: the metadata describe {rows}"]
        if counts.n_missing + counts.n_undefined + counts.n_error != state.n_missing:
            return [f"every null of {name} is counted as missing: the metadata do not count {state.n_missing:,} nulls"]
        state.tell_apart(counts.n_undefined, counts.n_error)
        return []


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


_MOST_NOTED = 5
"""Maximum number of files and differences in a note."""


def pooled_notes(files: Sequence[ScoreTable], rows: Sequence[int]) -> list[str]:
    """The notes on pooled files: their rows, and the differences between their settings and their inputs."""
    described = [f"{file.address} ({count:,} rows)" for file, count in zip(files, rows, strict=True)]
    notes = [f"{len(files):,} files pooled: {some(described, _MOST_NOTED)}"]
    settings = [(str(file.address), file.metadata.settings()) for file in files]
    known = [(name, own) for name, own in settings if own]
    where: dict[RunDifference, list[str]] = {}
    for name, own in known[1:]:
        for difference in differences(known[0][1], own):
            where.setdefault(difference, []).append(name)
    differ = [f"{what} is {a} in {known[0][0]}, {b} in {some(at, _MOST_NOTED)}" for (what, a, b), at in where.items()]
    notes += differ[:_MOST_NOTED]
    notes += [f"{len(where) - _MOST_NOTED:,} more differences in settings"] if len(where) > _MOST_NOTED else []
    by_inputs: dict[str, list[str]] = {}
    for file in files:
        if (inputs := described_inputs(file.metadata.inputs)) is not None:
            by_inputs.setdefault(inputs, []).append(str(file.address))
    pairs = [f"{some(names, _MOST_NOTED)} from {inputs}" for inputs, names in by_inputs.items()]
    notes += [f"different inputs: {some(pairs, _MOST_NOTED, '; ')}"] if len(by_inputs) > 1 else []
    again = "files from the same input (by name and size); its rows are counted repeatedly"
    several = [pair for pair, names in zip(pairs, by_inputs.values(), strict=True) if len(names) > 1]
    notes += [f"{again}: {pair}" for pair in several[:_MOST_NOTED]]
    unknown = [name for name, own in settings if not own]
    return [*notes, *([f"unknown settings: {some(unknown, _MOST_NOTED)}"] if known and unknown else [])]
