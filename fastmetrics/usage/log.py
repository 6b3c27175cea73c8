"""A log of questions and answers, in files or in memory, as batches of the requested columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from fastmetrics.core.batch_sizes import SIZES, ReadSizes
from fastmetrics.core.column_kinds import check, plain
from fastmetrics.core.input_columns import COLUMNS, resolve
from fastmetrics.core.threads import ordered
from fastmetrics.errors import ColumnError, UnknownNameError
from fastmetrics.errors.messages import Argument
from fastmetrics.tables.frame_source import FrameSource
from fastmetrics.tables.table_source import open_table
from fastmetrics.tables.whole_table import Piece, gathered

T = TypeVar("T")
R = TypeVar("R")

_SIZES = ReadSizes(parquet_rows=SIZES.log_rows, parquet_bytes=64 << 20)


class LogPart(NamedTuple):
    """Some rows of a log, under canonical names, and the number of the first, from 0."""

    first: int
    rows: pa.RecordBatch


class Columns(NamedTuple):
    """The mapping of a log's columns: ``columns`` (canonical: user's) and the preset ``schema``, as in ``score``."""

    columns: Mapping[str, str] | None = None
    schema: str | None = None
    format: str | None = None


PLAIN = Columns()
"""The mapping by canonical names only."""


@dataclass(frozen=True)
class Log:
    """An opened log: ``names`` maps the canonical columns found to their names in the log."""

    names: Mapping[str, str]
    read: Callable[[Callable[[pa.Schema, Iterator[Piece]], Any], int], Any]

    @property
    def has(self) -> frozenset[str]:
        """The canonical columns found."""
        return frozenset(self.names)

    def parts(self, work: Callable[[LogPart], T], add: Callable[[Iterator[T]], R], threads: int) -> R:
        """Reduce with ``add`` the results of ``work`` for each part, in order, with ``threads`` parts at a time."""

        def make(schema: pa.Schema, pieces: Iterator[Piece]) -> R:
            renamed = self._renamed(schema)
            return add(ordered(lambda item: work(self._part(*item, renamed)), _numbered(pieces), threads))

        return self.read(make, threads)

    def table(self) -> pa.Table:
        """All rows as one table, under canonical names."""

        def make(schema: pa.Schema, pieces: Iterator[Piece]) -> pa.Table:
            renamed = self._renamed(schema)
            rows = (self._part(first, piece, renamed).rows for first, piece in _numbered(pieces))
            return pa.Table.from_batches(rows, schema=renamed)

        return self.read(make, 1)

    def _renamed(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema([(name, plain(schema.field(column).type)) for name, column in self.names.items()])

    def _part(self, first: int, piece: Piece, renamed: pa.Schema) -> LogPart:
        batch = piece.batch()
        arrays = [batch.column(column) for column in self.names.values()]
        return LogPart(first, pa.RecordBatch.from_arrays(arrays, schema=renamed))


def _numbered(pieces: Iterator[Piece]) -> Iterator[tuple[int, Piece]]:
    """Each piece and the number of its first row."""
    first = 0
    for piece in pieces:
        yield first, piece
        first += piece.rows


def open_log(
    log: Any,
    needed: Sequence[str],
    optional: Sequence[str] = (),
    numbers: Sequence[str] = (),
    how: Columns = PLAIN,
    labels: Sequence[str] = (),
    *,
    again: bool = False,
    what: str = "log",
) -> Log:
    """Open a log with its ``needed`` columns, the ``optional`` ones that exist, and ``numbers`` by their own names.

    ``labels`` are also found by their own names and may have any type.  A log in memory that is to be read ``again`` is
    held, as a reader or a generator has its rows only once.  ``what`` is the log in messages.

    ``log`` is an input of ``score``.  Raises ``ColumnError`` for a missing needed
    column, or for a column of an unexpected kind.
    """
    source = open_table(log, how.format, sizes=_SIZES, name=what)
    present = source.names
    mapping = resolve(present, how.columns, how.schema, {*needed, *optional})
    for name in needed:
        if name not in mapping:
            raise _missing(name, present)
    columns = {name: mapping[name] for name in (*needed, *optional) if name in mapping}
    for argument, group in (("scores", numbers), ("labels", labels)):
        for name in group:
            if name not in present:
                raise ColumnError(Argument(argument, name), ": ", UnknownNameError.of("column", name, present).message)
    names = {**columns, **{name: name for name in (*numbers, *labels) if name not in columns.values()}}
    others = dict.fromkeys(labels, "any") | dict.fromkeys(numbers, "number")
    kinds = {column: COLUMNS[name].kind if name in columns else others[name] for name, column in names.items()}
    if again and isinstance(source, FrameSource):
        source.hold(kinds)
    as_read = {column: "any" if kind == "time" else kind for column, kind in kinds.items()}

    def read(make: Callable[[pa.Schema, Iterator[Piece]], R], threads: int) -> R:
        def checked(schema: pa.Schema, pieces: Iterator[Piece]) -> R:
            for column, kind in kinds.items():
                check("", column, kind, schema.field(column).type)
            return make(schema, pieces)

        return gathered(source, as_read, checked, threads)

    return Log(names, read)


def _missing(name: str, present: Sequence[str]) -> ColumnError:
    column = COLUMNS[name]
    others = f" (or {', '.join(column.aliases)})" if column.aliases else ""
    have = ", ".join(map(repr, present)) or "none"
    way = Argument("columns", {name: ...})
    return ColumnError(f"the log has no column {name!r}{others}; it has {have}; name the column with ", way)
