"""Reading a table or a query of a database: one moment of it, in batches, from any row on if the rows have an order."""

from __future__ import annotations

import re
import secrets
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from fastmetrics.base.arrow import check_names, check_table
from fastmetrics.base.errors import ColumnError, FileFormatError
from fastmetrics.base.limits import SIZES
from fastmetrics.tables.databases.database_address import DatabaseTable, quoted
from fastmetrics.tables.databases.database_types import (
    UnequalVectorsError,
    converted,
    is_json,
    readable_type,
    type_name,
)
from fastmetrics.tables.databases.json_cells import json_type_of, json_values
from fastmetrics.tables.databases.row_order import row_order
from fastmetrics.tables.databases.sessions import Session
from fastmetrics.tables.file_columns import Selection, Widened, WiderTypeError
from fastmetrics.tables.formats.reader import Reader
from fastmetrics.tables.inputs.input_files import DataFile, content_of, reading
from fastmetrics.tables.retry import patiently
from fastmetrics.tables.table_chunks import Chunk, Place, Reject

_MIXED = re.compile(r"Type mismatch in column (\d+): ")
_JSON_SAMPLE = 1000
"""Rows whose values show the type of a column of JSON."""


class DatabaseReader(Reader):
    """The rows of one table or query; ``schema`` has the columns that can be read.

    A connection to PostgreSQL stays open as long as the reader: its transaction is the moment that all reads show.
    """

    is_text = True

    def __init__(self, file: DataFile) -> None:
        super().__init__(file)
        self._table = DatabaseTable.of(file.path)
        self._content = self._local_content()
        self._first: Session | None = None
        with reading(file.shown):
            session = patiently(self._open)
        try:
            driver_schema = session.schema(f"SELECT * FROM {self._table.relation}")
            check_names(driver_schema, file.shown, FileFormatError)
            if not driver_schema.names:
                raise FileFormatError(f"{file.shown}: the query has no columns; expected select …")
            json_types = {
                field.name: self._json_type(session, field.name) for field in driver_schema if is_json(field.type)
            }
            self._json_types = {name: type_ for name, type_ in json_types.items() if type_ is not None}
            self.unreadable_columns = {
                field.name: f"{file.shown}: column {field.name!r} is of type {type_name(field)}, which cannot be read; "
                "leave it out of the query, or convert it there, for example to text"
                for field in driver_schema
                if readable_type(field.type) is None
            }
            self.schema = pa.schema([(field.name, self._type(field)) for field in driver_schema])
            self._order = row_order(self._table, session, driver_schema.names)
        except BaseException:
            session.close()
            raise
        self._keep(session)

    def __getstate__(self) -> dict[str, Any]:
        """Another process makes a connection of its own."""
        return {**self.__dict__, "_first": None, "_snapshot": None, "_closing": None}

    def _open(self) -> Session:
        return Session(self._table)

    def _keep(self, session: Session) -> None:
        """Keep the transaction of PostgreSQL open, so that other connections can read at the same moment."""
        self._snapshot: str | None = None
        if self._table.scheme != "postgresql":
            session.close()
            return
        row = session.row("SELECT pg_export_snapshot()")
        self._snapshot = None if row is None else str(row[0])
        self._closing = weakref.finalize(self, session.close)

    def _type(self, field: pa.Field) -> pa.DataType:
        if field.name in self._json_types:
            return self._json_types[field.name]
        return readable_type(field.type) or pa.null()

    def _json_type(self, session: Session, name: str) -> pa.DataType | None:
        first = f"SELECT {quoted(name)} FROM {self._table.relation} LIMIT {_JSON_SAMPLE}"
        cells = (row[0] for row in session.rows(first))
        return json_type_of([str(cell) for cell in cells if cell is not None])

    def states(self, name: str) -> bool:
        """Whether the type of a column is known: SQLite and JSON have values of any type in a column."""
        if name in self._json_types:
            return False
        return self._table.scheme != "sqlite" or bool(pt.is_binary(self.schema.field(name).type))

    def fingerprint(self) -> list[Any]:
        """The identity of the rows; that of rows without an order is new each time, since no run can go on in them."""
        if not self._order.is_stable:
            return [self.file.shown, self._table.digest, f"{self._order.reason} ({secrets.token_hex(8)})"]
        return [self.file.shown, self._table.digest, self._order.content, *(self._content or ())]

    @property
    def snapshot(self) -> str | None:
        """The moment that all reads of PostgreSQL show; None once its connection has ended."""
        return self._snapshot

    @property
    def unstable(self) -> str | None:
        """Why a run cannot go on in the middle of the rows."""
        return None if self._order.is_stable else self._order.reason

    def check_unchanged(self) -> None:
        """Raise ``FileFormatError`` if the file of the database was changed since it was opened."""
        if self._local_content() != self._content:
            changed = "the database changed while it was read; read it again when nothing writes to it"
            raise FileFormatError(f"{self.file.shown}: {changed}")

    def _local_content(self) -> list[Any] | None:
        """What identifies the file of a database and its log of changes."""
        if self._table.scheme == "postgresql":
            return None
        files = (content_of(self._table.path), content_of(f"{self._table.path}-wal"))
        return [list(content) for content in files if content is not None and content[0]]

    def read(self, selection: Selection, number: int, start: int, threads: int) -> Iterator[Chunk]:
        """The rows from ``start`` on."""
        row = start
        sql = self._sql(selection, start)
        try:
            session = self._session(is_first=start == 0)
            try:
                for batch in self._batches(session, sql):
                    check_table(batch, f"{self.file.shown}, from row {row}, column", FileFormatError)
                    yield self._chunk(batch, selection, number, row)
                    row += batch.num_rows
            finally:
                session.close()
        except ConnectionError as error:
            lost = f"{self.file.shown}: the connection was lost after {row:,} rows: {error}"
            if row and not self._order.is_stable:
                raise FileFormatError(f"{lost}; reading cannot go on: {self._order.reason}") from None
            raise FileFormatError(lost) from error
        except FileFormatError as error:
            self._raise_mixed(error, selection)
            raise

    def _raise_mixed(self, error: FileFormatError, selection: Selection) -> None:
        """Raise ``Widened`` for a column of SQLite whose later values are of another type than the first, if it can be.

        Otherwise raise a ``FileFormatError`` with the name of the column.
        """
        mixed = _MIXED.search(str(error))
        if mixed is None:
            return
        field = selection.schema.field(int(mixed[1]))
        if selection.kinds[field.name] in ("id", "any", "time"):
            raise Widened(field.name, pa.string()) from None
        what = "expected numbers in all rows, as in the first ones; convert the values in the query"
        raise FileFormatError(f"{self.file.shown}: column {field.name!r}: {what}") from None

    def _session(self, *, is_first: bool) -> Session:
        """A connection that shows the rows of the first one, or rows that have not changed since."""
        if self._snapshot is None and self._table.scheme != "postgresql":
            return Session(self._table)
        try:
            if self._snapshot is not None:
                return Session(self._table, self._snapshot)
        except FileFormatError:  # the first connection has ended
            self._snapshot = None
        session = Session(self._table)
        try:
            if not (is_first and not self._order.is_stable) and self._order.changed(session):
                changed = "the rows changed since they were first read; read them again when nothing writes to them"
                raise FileFormatError(f"{self.file.shown}: {changed}")
        except BaseException:
            session.close()
            raise
        return session

    def _batches(self, session: Session, sql: str) -> Iterator[pa.RecordBatch]:
        """The batches, small ones joined; the first row of SQLite is that of the types."""
        waiting: list[pa.RecordBatch] = []
        skipped = 1 if self._table.scheme == "sqlite" else 0
        for batch in session.batches(sql):
            batch = batch.slice(skipped)
            skipped = 0
            waiting.append(batch)
            if sum(piece.num_rows for piece in waiting) >= SIZES.read_batch_rows // 2:
                yield from _joined(waiting)
                waiting = []
        yield from _joined(waiting)

    def _chunk(self, batch: pa.RecordBatch, selection: Selection, number: int, row: int) -> Chunk:
        """A batch with the types of the selection; rows whose JSON does not fit are bad rows."""
        arrays: list[pa.Array] = []
        wrong: dict[int, tuple[str, str]] = {}
        for field in selection.schema:
            name, column = field.name, batch.column(batch.schema.get_field_index(field.name))
            with reading(f"{self.file.shown}, from row {row}, column {name!r}"):
                if name in self._json_types:
                    try:
                        array, reasons = json_values(column.storage, field.type, selection.kinds[name])
                    except WiderTypeError as wider:
                        raise Widened(name, wider.type) from None
                    wrong.update({at: (name, reason) for at, reason in reasons.items() if at not in wrong})
                else:
                    array = self._converted(column, field, row)
            arrays.append(array)
        rows = np.arange(row, row + batch.num_rows, dtype=np.int64)
        result = pa.RecordBatch.from_arrays(arrays, schema=selection.schema)
        if not wrong:
            return Chunk(number, rows, result)
        rejects = tuple(
            Reject(Place(number, row + at), self.file.shown, self.where(row + at), *wrong[at], "")
            for at in sorted(wrong)
        )
        good = np.ones(batch.num_rows, np.bool_)
        good[list(wrong)] = False
        return Chunk(number, rows[good], result.filter(pa.array(good)), rejects)

    def _converted(self, column: pa.Array, field: pa.Field, row: int) -> pa.Array:
        try:
            return converted(column, field.type)
        except UnequalVectorsError as error:
            raise ColumnError(f"{self.file.shown}, from row {row}, column {field.name!r}: {error}") from None

    def _sql(self, selection: Selection, start: int) -> str:
        """The selected columns of the rows from ``start`` on."""
        order = self._order.sql
        columns = ", ".join(map(self._column, selection.schema)) or "1"
        skip = f" OFFSET {start}" if start else ""
        if self._table.scheme != "sqlite":
            return f"SELECT {columns} FROM {self._table.relation}{order}{skip}"
        limit = f" LIMIT -1{skip}" if start else ""
        types = ", ".join(f"{_typed_value(field.type)} AS {quoted(field.name)}" for field in selection.schema) or "1"
        # an index that has all columns would give the rows another order
        stored = " NOT INDEXED" if self._table.table is not None and not order else ""
        rows = f"SELECT {columns} FROM {self._table.relation}{stored}{order}{limit}"
        return f"SELECT {types} UNION ALL SELECT * FROM ({rows})"

    def _column(self, field: pa.Field) -> str:
        """A column; SQLite converts its values, each of which has a type of its own."""
        name = quoted(field.name)
        if self._table.scheme != "sqlite":
            return name
        if pt.is_string(field.type):
            return f"CAST({name} AS TEXT) AS {name}"
        if pt.is_floating(field.type):
            return f"CASE typeof({name}) WHEN 'integer' THEN CAST({name} AS REAL) ELSE {name} END AS {name}"
        return name


def _typed_value(type_: pa.DataType) -> str:
    """A value that shows SQLite's driver the type of a column, which it takes from the first row."""
    if pt.is_string(type_):
        return "''"
    return "0.5" if pt.is_floating(type_) else "x'00'" if pt.is_binary(type_) else "0"


def _joined(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches as pieces of at most the rows that are read at a time."""
    if not batches:
        return
    whole = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
    for start in range(0, whole.num_rows, SIZES.read_batch_rows):
        yield whole.slice(start, SIZES.read_batch_rows)
