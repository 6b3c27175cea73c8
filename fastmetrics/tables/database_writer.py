"""Writing a table of a database, its metadata and its rejected rows, in one transaction."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq
import pyarrow.types as pt

from fastmetrics.base.arrays import is_list
from fastmetrics.base.errors import Argument, FileFormatError, OptionError, OutputError
from fastmetrics.tables.addresses import is_database, parameters
from fastmetrics.tables.databases import DatabaseTable, Session, quoted, table_parts
from fastmetrics.tables.encoders import dump, json_object, metadata_in
from fastmetrics.tables.targets import Moves, Target, paths_of

METADATA = "_fastmetrics"
REJECTS = "_rejects"
_SUFFIXES = ("", METADATA, REJECTS)
"""What the names of the tables of an output add to its own."""
_SERVER = ("host", "hostaddr", "port", "dbname", "service")
"""The parameters of PostgreSQL that say which database it is."""
_LONGEST_NAME = 63 - len(METADATA)
"""Bytes of the name of a table; PostgreSQL truncates names of more than 63."""
_EXISTS = {
    "postgresql": "SELECT relkind = 'r' FROM pg_class WHERE oid = to_regclass('{table}')",
    "sqlite": "SELECT type = 'table' FROM sqlite_master WHERE name = '{name}' COLLATE NOCASE",
    "duckdb": "SELECT table_type = 'BASE TABLE' FROM information_schema.tables "
    "WHERE lower(table_name) = lower('{name}') AND lower(table_schema) = lower('{schema}')",
}


class DatabaseTarget(Target):
    """The table that an output becomes; beside it are one with its metadata and, if there are any, its rejected rows.

    A run works in a local folder and writes the table at the end, in one transaction.  Raises ``OptionError`` for an
    address that does not name a table.
    """

    def __init__(self, text: str, beside: Sequence[str]) -> None:
        self.table = DatabaseTable.of(text)
        shown = self.table.url.shown
        super().__init__(text, None, beside, shown)
        self._overwrite = False
        if self.table.table is None:
            raise OptionError(f"output {shown!r}: expected the name of a table alone, as in ?table=scores")
        *schema, self.name = table_parts(self.table.table)
        if len(schema) > 1:
            raise OptionError(f"output {shown!r}: expected the name of a table, with its schema at most")
        is_main = self.table.scheme == "sqlite" and schema == ["main"]  # which the driver does not take
        self._schema = schema[0] if schema and not is_main else None
        if len(self.name.encode()) > _LONGEST_NAME:
            raise OptionError(f"output {shown!r}: expected a name of at most {_LONGEST_NAME} bytes")

    def shown(self, suffix: str) -> str:
        """The address of the table, or of that of rejected rows."""
        return self._shown_table(REJECTS) if suffix else str(self.path)

    def check(self, inputs: Any, *, overwrite: bool) -> None:
        """Raise ``OutputError`` if the table is an input, exists and must stay, or cannot be written."""
        self._overwrite = overwrite
        others = [DatabaseTable.of(path) for path in paths_of(inputs) if is_database(path)]
        for suffix in _SUFFIXES:
            if any(other.table is not None and _place(other) == _place(self.table, suffix) for other in others):
                raise OutputError(f"{self._shown_table(suffix)} is an input; write to another name")
        if self.table.scheme != "postgresql" and not os.path.isfile(self.table.path):
            folder = os.path.dirname(os.path.abspath(self.table.path))
            if not os.path.isdir(folder):
                raise OutputError(f"cannot write {self.path}: there is no folder {folder}")
            return
        with self._transaction() as session:
            self._check_free(session)
            for suffix in _SUFFIXES:  # what the server does not allow, such as a table below a view, it says now
                self._drop(session, suffix)
            session.execute(f"CREATE TABLE {self._qualified('')} (probe integer)")
            session.rollback()

    def _check_free(self, session: Session) -> None:
        for suffix in _SUFFIXES:
            kind = session.row(self._exists(suffix))
            if kind is not None and not kind[0]:
                raise OutputError(f"{self.table.url.shown}: {self.name + suffix!r} exists and is not a table")
            if kind is not None and not self._overwrite:
                what = f"the table {self.name + suffix!r} exists; choose "
                raise OutputError(f"{self.table.url.shown}: {what}", Argument("overwrite", True), " to replace it")

    def publish(self, folder: Path, moves: Moves) -> None:
        """Replace the table by the rows of a Parquet file, and its rejected rows, all in one transaction.

        To repeat this gives the same result.  Raises ``OutputError`` if it cannot be written, or if the table exists
        and may not be replaced.
        """
        files = {suffix: folder / name for name, suffix in moves}
        parquet, rejects = files.pop(""), next(iter(files.values()), None)
        with pq.ParquetFile(parquet) as file:
            self.check_types(file.schema_arrow)  # before the file of a database is created
        with self._transaction() as session, pq.ParquetFile(parquet) as file:
            self._check_free(session)
            rows = pa.RecordBatchReader.from_batches(file.schema_arrow.remove_metadata(), file.iter_batches())
            about = pa.table({"metadata": [dump(metadata_in(file, str(parquet)) or {})]})
            rejected = None if rejects is None else pj.read_json(rejects)
            for suffix, table in (("", rows), (METADATA, about), (REJECTS, rejected)):
                self._drop(session, suffix)
                if table is not None:
                    session.create(self.name + suffix, table, self._schema)
            session.commit()
        self._overwrite = True

    def _drop(self, session: Session, suffix: str) -> None:
        session.execute(f"DROP TABLE IF EXISTS {self._qualified(suffix)}")

    def check_types(self, schema: pa.Schema) -> None:
        """Raise ``OutputError`` for a column that the database has no type for."""
        for field in schema:
            lists = is_list(field.type)
            nested = lists and (is_list(field.type.value_type) or pt.is_struct(field.type.value_type))
            lacks = {"sqlite": lists or pt.is_struct(field.type), "postgresql": nested or pt.is_struct(field.type)}
            if lacks.get(self.table.scheme, False):
                where = "DuckDB or a file" if self.table.scheme == "postgresql" else "PostgreSQL, DuckDB or a file"
                what = f"column {field.name!r} is of type {field.type}, which no column of {self.table.scheme} has"
                raise OutputError(f"cannot write {self.table.url.shown}: {what}; leave it out, or write to {where}")

    @contextmanager
    def _transaction(self) -> Iterator[Session]:
        """A connection that writes in one transaction, with errors of writing."""
        shown = self.table.url.shown
        try:
            session = Session(self.table, writes=True)
            try:
                yield session
            finally:
                session.close()
        except FileFormatError as error:
            reason = str(error).removeprefix(f"{shown}: ")
            raise OutputError(f"cannot write {shown}: {reason}") from None
        except ConnectionError as error:
            raise OutputError(f"cannot write {shown}: {error}") from None

    def _qualified(self, suffix: str) -> str:
        return ".".join(map(quoted, filter(None, [self._schema, self.name + suffix])))

    def _exists(self, suffix: str) -> str:
        """The query for whether something of this name is a table; no row if there is nothing."""
        parts = {"name": self.name + suffix, "table": self._qualified(suffix), "schema": self._schema or "main"}
        quoted_parts = {key: part.replace("'", "''") for key, part in parts.items()}
        return _EXISTS[self.table.scheme].format(**quoted_parts)

    def _shown_table(self, suffix: str) -> str:
        """The address of a table beside the output, for messages."""
        other = quoted(self.name + suffix) if "." in self.name else self.name + suffix
        table = ".".join(filter(None, [self._schema, other]))
        return replace(self.table.url, query=f"table={table}").shown


def stored_metadata(address: str) -> dict[str, Any] | None:
    """The metadata beside a table that an output became; None for a query or another table."""
    table = DatabaseTable.of(address)
    if table.table is None:
        return None
    *schema, name = table_parts(table.table)
    sibling = ".".join(map(quoted, [*schema, name + METADATA]))
    session = Session(table)
    try:
        row = session.row(f"SELECT metadata FROM {sibling}")
    except FileFormatError:  # there is no such table
        return None
    finally:
        session.close()
    return None if row is None else json_object(str(row[0]), table.url.shown)


def _place(table: DatabaseTable, suffix: str = "") -> Sequence[Any]:
    """What is equal for two addresses of one table, whoever connects; only PostgreSQL tells capitals apart."""
    *schema, name = table_parts(table.table or "")
    if table.scheme != "postgresql":
        return (table.scheme, os.path.realpath(table.path), (name + suffix).lower())
    server = table.url.authority.rpartition("@")[2]
    values = parameters(replace(table.url, query=table.parameters))
    where = {key: value for key, value in values.items() if key in _SERVER}
    return (server, table.url.path, where, [part for part in schema if part != "public"], name + suffix)
