"""Writing a table of a database in one transaction, under another name until all rows are there, and its metadata."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
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

METADATA = "_fastmetrics"
REJECTS = "_rejects"
_STAGING = "_staging"
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
_VIEWS = {
    "postgresql": "SELECT viewname, definition FROM pg_views WHERE schemaname <> 'pg_catalog' UNION ALL "
    "SELECT matviewname, definition FROM pg_matviews",
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'view'",
    "duckdb": "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal",
}
"""The names of the views of a database, and what they read."""
_DEPENDENT_VIEW = (
    "SELECT v.relname FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class "
    "WHERE d.classid = 'pg_rewrite'::regclass AND d.refobjid = to_regclass('{table}') AND v.oid <> d.refobjid LIMIT 1"
)


class WrittenTable:
    """The table that an output becomes; beside it are one with its metadata and, if there are any, its rejected rows.

    Raises ``OptionError`` for an address that does not name a table.
    """

    def __init__(self, address: str) -> None:
        self.table = DatabaseTable.of(address)
        if self.table.table is None or self.table.order:
            raise OptionError(
                f"output {self.table.url.shown!r}: expected the name of a table alone, as in ?table=scores"
            )
        *schema, self.name = table_parts(self.table.table)
        if len(schema) > 1:
            raise OptionError(f"output {self.table.url.shown!r}: expected the name of a table, with its schema at most")
        is_main = self.table.scheme == "sqlite" and schema == ["main"]  # which the driver does not take
        self._schema = schema[0] if schema and not is_main else None
        if len(self.name.encode()) > _LONGEST_NAME:
            raise OptionError(f"output {self.table.url.shown!r}: expected a name of at most {_LONGEST_NAME} bytes")

    def check(self, inputs: Any, *, overwrite: bool) -> None:
        """Raise ``OutputError`` if the table is an input, exists and must stay, or cannot be written."""
        shown = self.table.url.shown
        others: list[DatabaseTable] = []
        for path in _addresses(inputs):
            table = DatabaseTable.of(path)
            others.append(table)
            for suffix in ("", METADATA, REJECTS):
                if table.table is not None and _place(table) == _place(self.table, suffix):
                    raise OutputError(f"{self.beside(suffix)} is an input; write to another name")
        if self.table.scheme != "postgresql" and not os.path.isfile(self.table.path):
            folder = os.path.dirname(os.path.abspath(self.table.path))
            if not os.path.isdir(folder):
                raise OutputError(f"cannot write {shown}: there is no folder {folder}")
            return
        with self._transaction() as session:
            self._check_free(session, overwrite=overwrite)
            self._check_views(session, others)
            session.execute(f"CREATE TABLE {self._qualified(_STAGING)} (probe integer)")
            session.rollback()

    def _check_free(self, session: Session, *, overwrite: bool) -> None:
        for suffix in ("", METADATA, REJECTS):
            kind = session.row(self._exists(suffix))
            if kind is not None and not kind[0]:
                raise OutputError(f"{self.table.url.shown}: {self.name + suffix!r} exists and is not a table")
            if kind is not None and not overwrite:
                what = f"the table {self.name + suffix!r} exists; choose "
                raise OutputError(f"{self.table.url.shown}: {what}", Argument("overwrite", True), " to replace it")

    def _check_views(self, session: Session, inputs: Sequence[DatabaseTable]) -> None:
        """Raise ``OutputError`` if an input of the same database reads a table that would be replaced, or a view does.

        SQLite and DuckDB replace a table below its views; PostgreSQL does not.
        """
        views: dict[str, str] = {}
        if inputs:
            views = {str(name): str(text) for name, text in session.rows(_VIEWS[self.table.scheme])}
        for suffix in ("", METADATA, REJECTS):
            if session.row(self._exists(suffix)) is None:
                continue
            for read in inputs:
                same = _place(replace(read, table=self.table.table)) == _place(self.table)
                if same and _names(self.name + suffix, _texts_read(read, views)):
                    what = f"the query of the input names {self.beside(suffix)}, which would be replaced"
                    what = what if read.query is not None else what.replace("query", "view")
                    raise OutputError(f"{what}; write to another name")
            if self.table.scheme == "postgresql" and (view := session.row(self._sql(_DEPENDENT_VIEW, suffix))):
                what = f"the view {view[0]!r} reads {self.beside(suffix)}, which would be replaced"
                raise OutputError(f"{what}; drop the view first, or write to another name")

    def write(self, parquet: Path, rejects: Path | None = None, *, overwrite: bool) -> None:
        """Replace the table by the rows of a Parquet file, and its rejected rows, all in one transaction.

        Raises ``OutputError`` if it cannot be written, or if the table exists unless ``overwrite``.
        """
        with pq.ParquetFile(parquet) as file:
            self.check_types(file.schema_arrow)  # before the file of a database is created
        with self._transaction() as session, pq.ParquetFile(parquet) as file:
            self._check_free(session, overwrite=overwrite)
            rows = pa.RecordBatchReader.from_batches(file.schema_arrow.remove_metadata(), file.iter_batches())
            self._replace(session, "", rows, file.metadata.num_rows)
            text = dump(metadata_in(file, str(parquet)) or {})
            about = pa.table({"metadata": pa.array([text], pa.string())})
            self._replace(session, METADATA, about.to_reader(), 1)
            if rejects is None:
                session.execute(f"DROP TABLE IF EXISTS {self._qualified(REJECTS)}")
            else:
                rejected = pj.read_json(rejects)
                self._replace(session, REJECTS, rejected.to_reader(), rejected.num_rows)
            session.commit()

    def _replace(self, session: Session, suffix: str, rows: pa.RecordBatchReader, count: int) -> None:
        """Write rows under another name, and rename the table."""
        session.create(self.name + _STAGING, rows, self._schema)
        written = session.row(f"SELECT count(*) FROM {self._qualified(_STAGING)}")
        if written is None or written[0] != count:
            raise OutputError(f"cannot write {self.table.url.shown}: the database has {written} of {count:,} rows")
        session.execute(f"DROP TABLE IF EXISTS {self._qualified(suffix)}")
        session.execute(f"ALTER TABLE {self._qualified(_STAGING)} RENAME TO {quoted(self.name + suffix)}")

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
        return self._sql(_EXISTS[self.table.scheme], suffix)

    def _sql(self, template: str, suffix: str) -> str:
        name = (self.name + suffix).replace("'", "''")
        table = self._qualified(suffix).replace("'", "''")
        schema = (self._schema or "main").replace("'", "''")
        return template.format(name=name, table=table, schema=schema)

    def beside(self, suffix: str) -> str:
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


def _names(name: str, text: str) -> bool:
    """Whether a text in SQL names a table."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def _texts_read(read: DatabaseTable, views: Mapping[str, str]) -> str:
    """The query of an input, and the definitions of the views that it reads, through other views too."""
    names_text, text, unread = read.query or table_parts(read.table or "")[-1], read.query or "", set(views)
    while more := {view for view in unread if _names(view, names_text)}:
        unread -= more
        names_text = "\n".join(views[view] for view in more)
        text += f"\n{names_text}"
    return text


def _addresses(inputs: Any) -> Iterator[str]:
    """The addresses of databases among inputs: paths, in lists or dictionaries too."""
    if isinstance(inputs, str) and is_database(inputs):
        yield inputs
    elif isinstance(inputs, dict):
        yield from _addresses(list(inputs.values()))
    elif isinstance(inputs, list | tuple):
        for path in inputs:
            yield from _addresses(path)


def _place(table: DatabaseTable, suffix: str = "") -> Sequence[Any]:
    """What is equal for two addresses of one table, whoever connects; only PostgreSQL tells capitals apart."""
    *schema, name = table_parts(table.table or "")
    if table.scheme != "postgresql":
        return (table.scheme, os.path.realpath(table.path), (name + suffix).lower())
    server = table.url.authority.rpartition("@")[2]
    values = parameters(replace(table.url, query=table.parameters))
    where = {key: value for key, value in values.items() if key in _SERVER}
    return (server, table.url.path, where, [part for part in schema if part != "public"], name + suffix)
