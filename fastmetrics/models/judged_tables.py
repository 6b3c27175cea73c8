"""The tables that judges and bots read: a sample of the rows, and two tables of answers joined by id."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import is_text
from fastmetrics.base.column_names import resolve
from fastmetrics.base.errors import Argument, ColumnError, InputError, OptionError
from fastmetrics.base.options import Seed, Whole, argument
from fastmetrics.base.paths import Names
from fastmetrics.models.prompts import Rubric, kind_of
from fastmetrics.tables.addresses import last_name
from fastmetrics.tables.column_types import Selection
from fastmetrics.tables.good_rows import whole_table
from fastmetrics.tables.input_files import FileSettings
from fastmetrics.tables.opening import open_table
from fastmetrics.tables.readers import BEGINNING, Chunk, Position
from fastmetrics.tables.sources import NarrowedSource, TableSource

# A uniform random sample of the rows of an input, as a source.


_MOST = 100_000_000


def sampled_rows(total: int, rows: int, seed: int) -> npt.NDArray[np.int64]:
    """The sorted numbers of this many random rows of ``total``; all rows if there are fewer.

    >>> sampled_rows(10, 3, seed=1).tolist() == sampled_rows(10, 3, seed=1).tolist(), len(sampled_rows(2, 3, seed=1))
    (True, 2)

    Raises ``OptionError`` for a number of rows below 1 or an invalid seed.
    """
    count, start = argument("sample", rows, Whole(1, _MOST)), argument("seed", seed, Seed)
    drawn = random.Random(start).sample(range(total), min(count, total))
    return np.array(sorted(drawn), np.int64)


ROW = "row"
"""The column of a sample with the number of each row in its table, from 0."""


class SampledSource(NarrowedSource):
    """The sampled rows of a source; the other rows are read and skipped.

    Each row keeps its label in the index of a pandas frame, or has its number in the column ``row``.
    """

    def __init__(self, source: TableSource, rows: int, seed: int) -> None:
        super().__init__(source)
        sizes = [self._size(number) for number in range(max(1, len(self.files)))]
        sample = sampled_rows(sum(sizes), rows, seed)
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._sample = [sample[(sample >= a) & (sample < b)] - a for a, b in itertools.pairwise(self._starts)]
        self.rows = len(sample)
        index = getattr(source, "index", None)
        self.index = None if index is None else index[sample]
        self._own = () if self.index is not None else (ROW,)
        if index is None:
            if ROW in source.names:
                raise ColumnError(f"a sample of rows has their numbers in a column {ROW!r}; rename the table's")
            self.names = Names([*source.names, ROW], source.names.types, within=source.names.within)

    def _size(self, number: int) -> int:
        """The number of rows of a file, good and bad; text files are read to count them."""
        rows = self.file_rows(number)
        if rows is not None:
            return rows
        nothing = Selection(pa.schema([]), {})
        chunks = itertools.takewhile(lambda chunk: chunk.file == number, super().chunks(nothing, Position(number, 0)))
        return max((chunk.stop for chunk in chunks), default=0)

    def select(self, columns: Mapping[str, str]) -> Selection:
        """The named columns, and the numbers of the rows if they are among them."""
        selection = super().select({name: kind for name, kind in columns.items() if name not in self._own})
        if len(selection.schema) == len(columns):
            return selection
        return Selection(selection.schema.append(pa.field(ROW, pa.int64())), {**selection.kinds, ROW: "any"})

    def chunks(self, selection: Selection, start: Position = BEGINNING, threads: int = 1) -> Iterator[Chunk]:
        """The sampled rows from ``start`` on; bad rows outside the sample are ignored."""
        own = selection.without(self._own)
        for chunk in super().chunks(own, start, threads):
            sample = self._sample[chunk.file]
            good = np.isin(chunk.rows, sample)
            rejects = tuple(reject for reject in chunk.rejects if reject.position.row in sample)
            if good.any() or rejects:
                yield Chunk(chunk.file, chunk.rows[good], chunk.batch.filter(pa.array(good)), rejects, chunk.offset)

    def conform(self, chunk: Chunk, selection: Selection) -> pa.RecordBatch:
        """A chunk's batch with the selected types, and the numbers of its rows."""
        names = selection.schema.names
        batch = super().conform(chunk, selection.without(self._own))
        if batch.num_columns == len(names):
            return batch
        return batch.append_column(ROW, pa.array(self._starts[chunk.file] + chunk.rows)).select(names)


def sampled(source: TableSource, columns: Mapping[str, str], sample: int | None, seed: int) -> TableSource:
    """The rows of a random sample of a source, from which ``columns`` (yours: kind) will be read; all without one."""
    source.select(columns)  # all at once: a reader in memory can be read only once
    return source if sample is None else SampledSource(source, sample, seed)


def with_row_numbers(keep: Sequence[str], source: TableSource) -> list[str]:
    """The columns to copy, and the numbers of sampled rows if they have no index."""
    return [*keep, ROW] if isinstance(source, SampledSource) and source.index is None else list(keep)


def described(sample: int | None, seed: int) -> dict[str, int]:
    """The description of a sample for signatures; empty without one."""
    return {} if sample is None else {"rows": sample, "seed": seed}


# Two tables of answers to the same questions: the rows of one, with the answers of the other joined by id.


class SecondAnswers(NarrowedSource):
    """The rows of a table, with columns of another table joined by id; null where the other has no such row.

    The ids and the joined columns of the other table are in memory.
    """

    def __init__(
        self, source: TableSource, names: Mapping[str, str], other: TableSource, columns: Mapping[str, pa.Array]
    ) -> None:
        super().__init__(source)
        self._id, self._question, self._other = names["id"], names.get("question", ""), other
        self._ids, self._questions = columns["id"], columns.get("question")
        self._joined = joined = {name: column for name, column in columns.items() if name not in ("id", "question")}
        self.names = Names([*source.names, *joined], source.names.types, within=source.names.within)
        self._fields = [pa.field(name, values.type) for name, values in joined.items()]

    @property
    def fingerprint(self) -> list[list[Any]]:
        """The identity of both tables."""
        return [*super().fingerprint, *self._other.fingerprint]

    def select(self, columns: Mapping[str, str]) -> Selection:
        """The named columns of both tables, and the id."""
        own = {self._id: "any", **{name: kind for name, kind in columns.items() if name not in self._joined}}
        selection = super().select(own)
        return Selection(pa.schema([*selection.schema, *self._fields]), {**selection.kinds, **columns})

    def chunks(self, selection: Selection, *positions: Any, **more: Any) -> Any:
        """The rows of the first table."""
        return super().chunks(selection.without(self._joined), *positions, **more)

    def conform(self, chunk: Chunk, selection: Selection) -> pa.RecordBatch:
        """The batch of a chunk, with the columns of the other table."""
        batch = super().conform(chunk, selection.without(self._joined))
        ids = _texts(batch.column(self._id), self._id)
        rows = pc.index_in(ids, value_set=self._ids, skip_nulls=True)
        if self._questions is not None and self._question in batch.schema.names:
            differ = pc.not_equal(batch.column(self._question), self._questions.take(rows))
            for row in np.flatnonzero(differ.fill_null(False))[:1]:
                raise InputError(f"id {ids[row].as_py()!r}: the tables ask different questions; give each its own id")
        joined = [values.take(rows) for values in self._joined.values()]
        own = [batch.column(name) for name in selection.schema.names if name not in self._joined]
        return pa.RecordBatch.from_arrays([*own, *joined], schema=selection.schema)


def open_answers(
    table: Any,
    pairwise: bool,
    rubrics: Sequence[Rubric],
    columns: Mapping[str, str] | None,
    schema: str | None,
    files: FileSettings,
) -> tuple[TableSource, list[str]]:
    """The rows to judge; with ``pairwise``, those of the first of two tables, and the names of both.

    The second column of a pair, ``other_answer``, holds the first, ``answer``, of the second table.  Raises
    ``OptionError`` for other than two tables and for a rubric that compares no two answers, ``ColumnError`` for a table
    without ids and for a column that both tables provide, ``InputError`` for repeated ids and for ids that name other
    questions.
    """
    if not pairwise:
        return open_table(table, files, schema=schema), []
    names, (first, second) = _names_and_tables(table)
    source, other = open_table(first, files, schema=schema), open_table(second, files, schema=schema)
    for rubric in rubrics:
        if rubric.kind != "pairwise":
            raise OptionError(Argument("pairwise", True), f": the rubric {rubric.name!r} does not compare two answers")
    pairs = {new: old for old, new in (rubric.pair for rubric in rubrics)}
    for name in pairs:
        if name in source.names:
            raise ColumnError(
                f"{names[0]} has a column {name!r}, which is to hold the answers of {names[1]}; rename it"
            )
    own = _columns_of(source, names[0], {"id"}, columns, schema)
    others = _columns_of(other, names[1], {"id", *pairs.values()}, columns, schema)
    new_names = {
        "id": "id",
        **pairs,
        **({"question": "question"} if "question" in own and "question" in others else {}),
    }
    table = whole_table(other, {others[old]: kind_of(old) for old in new_names.values()})
    joined = {new: table.column(others[old]).combine_chunks() for new, old in new_names.items()}
    joined["id"] = _texts(joined["id"], others["id"])
    counts = pc.value_counts(joined["id"].drop_null())
    repeated = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(repeated):
        raise InputError(f"{names[1]}: expected unique ids, but {repeated[0]['values'].as_py()!r} occurs twice or more")
    return SecondAnswers(source, own, other, joined), names


def _names_and_tables(tables: Any) -> tuple[list[str], list[Any]]:
    """The names of two tables, and the tables."""
    several = tables if isinstance(tables, Mapping | list | tuple) else [tables]
    if len(several) != 2:
        raise OptionError(Argument("pairwise", True), f": expected two tables of answers, got {len(several)}")
    if isinstance(several, Mapping):
        return [str(name) for name in several], list(several.values())
    paths = [
        str(table) if isinstance(table, str | Path) else f"table {position}"
        for position, table in enumerate(several, 1)
    ]
    names = [last_name(path).partition(".")[0] for path in paths]
    return names if names[0] != names[1] else paths, list(several)


def _columns_of(
    source: TableSource, name: str, needed: set[str], columns: Mapping[str, str] | None, schema: str | None
) -> dict[str, str]:
    resolved = resolve(source.names, columns, schema, needed)
    for column in sorted(needed - resolved.keys()):
        raise ColumnError(f"{name} has no column {column!r}; the rows of two tables are paired by id")
    return resolved


def _texts(ids: pa.Array, name: str) -> pa.Array:
    if not (pa.types.is_integer(ids.type) or is_text(ids.type)):
        raise ColumnError(f"column {name!r} holds {ids.type}, not ids (text or integers)")
    return ids.cast(pa.large_string())
