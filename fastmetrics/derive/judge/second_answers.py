"""Two tables of answers to the same questions: the rows of one, with the answers of the other joined by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrow import is_text
from fastmetrics.base.errors import Argument, ColumnError, InputError, OptionError
from fastmetrics.base.input_columns import resolve
from fastmetrics.derive.prompts.rubric import Rubric
from fastmetrics.derive.prompts.template import kind_of
from fastmetrics.engines.job import FileSettings
from fastmetrics.tables.addresses import last_name
from fastmetrics.tables.file_columns import Selection
from fastmetrics.tables.sources import NarrowedSource, TableSource
from fastmetrics.tables.table_chunks import Chunk
from fastmetrics.tables.table_rows import whole_table


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
        self.names = [*source.names, *joined]
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

    def chunks(self, selection: Selection, *places: Any, **more: Any) -> Any:
        """The rows of the first table."""
        return super().chunks(selection.without(self._joined), *places, **more)

    def conform(self, chunk: Chunk, selection: Selection) -> pa.RecordBatch:
        """The batch of a chunk, with the columns of the other table."""
        batch = super().conform(chunk, selection.without(self._joined))
        ids = _texts(batch.column(self._id), self._id)
        rows = pc.index_in(ids, value_set=self._ids, skip_nulls=True)
        if self._questions is not None and self._question in batch.schema.names:
            differ = pc.not_equal(batch.column(self._question), self._questions.take(rows))
            for row in np.flatnonzero(differ.fill_null(False))[:1]:
                raise InputError(f"id {ids[row].as_py()!r}: the two tables ask different questions")
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
        return files.open(table), []
    names, (first, second) = _names_and_tables(table)
    source, other = files.open(first), files.open(second)
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
        str(table) if isinstance(table, str | Path) else f"table {place}" for place, table in enumerate(several, 1)
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
