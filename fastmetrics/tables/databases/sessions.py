"""Connections to databases that only read: the server, or the driver, refuses every statement that writes."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from fastmetrics.base.errors import FileFormatError, MissingExtraError
from fastmetrics.base.limits import RETRY_LIMITS, SIZES
from fastmetrics.tables.databases.database_address import DatabaseTable
from fastmetrics.tables.databases.database_errors import advice_for, plain_errors

_READ_ONLY = {
    "postgresql": ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SET LOCAL synchronize_seqscans = off"),
    "sqlite": ("PRAGMA query_only = 1", "BEGIN"),
    "duckdb": ("BEGIN TRANSACTION READ ONLY",),
}
"""What a connection executes first: all that it reads is of one moment, and nothing is written."""


class Session:
    """One connection, which only reads unless it ``writes``, in transactions.

    ``snapshot`` is that of another connection to PostgreSQL.

    Raises ``FileFormatError`` if the database refuses, ``ConnectionError`` if the connection is lost or not made, and
    ``MissingExtraError`` without the driver.
    """

    def __init__(self, table: DatabaseTable, snapshot: str | None = None, *, writes: bool = False) -> None:
        self._table = table
        driver, entrypoint, options = _driver(table, writes=writes)
        from adbc_driver_manager import dbapi

        with plain_errors(table):
            self._connection = dbapi.connect(
                driver=driver, entrypoint=entrypoint, db_kwargs=dict(options), autocommit=not writes
            )
        try:
            if table.scheme == "duckdb" and table.query is not None:
                _check_one_statement(table, table.query)
            for statement in () if writes else _READ_ONLY[table.scheme]:
                self.execute(statement)
            if writes and table.scheme == "postgresql":
                self.execute(f"SET lock_timeout = '{RETRY_LIMITS.lock_seconds * 1e3:.0f}ms'")
            if snapshot is not None:
                self.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def execute(self, sql: str) -> None:
        """Execute a statement without rows."""
        with plain_errors(self._table), self._connection.cursor() as cursor:
            cursor.execute(sql)

    def row(self, sql: str) -> tuple[Any, ...] | None:
        """The first row of a query."""
        with plain_errors(self._table), self._connection.cursor() as cursor:
            cursor.execute(sql)
            row = cursor.fetchone()
            return None if row is None else tuple(row)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query that has few."""
        with plain_errors(self._table), self._connection.cursor() as cursor:
            cursor.execute(sql)
            return [tuple(row) for row in cursor.fetchall()]

    def bound(self, sql: str, values: pa.RecordBatch) -> pa.Table:
        """All rows of a query with parameters, which are sent in binary."""
        with plain_errors(self._table), self._connection.cursor() as cursor:
            cursor.execute(sql, parameters=values)
            return cursor.fetch_arrow_table()

    def plan(self, sql: str) -> Any:
        """The plan of a query of PostgreSQL."""
        with plain_errors(self._table), self._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
            cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
            (plan,) = cursor.fetchone() or ("[]",)
            return json.loads(plan)

    def schema(self, sql: str) -> pa.Schema:
        """The columns of a query, with the types of the driver; SQLite shows those of the first rows."""
        with plain_errors(self._table), self._connection.cursor() as cursor:
            if self._table.scheme == "postgresql":
                return cursor.adbc_execute_schema(sql)
            most = SIZES.read_batch_rows if self._table.scheme == "sqlite" else 0
            cursor.adbc_statement.set_options(**_batch_options(self._table.scheme))
            cursor.execute(f"SELECT * FROM ({sql}\n) AS fastmetrics_first LIMIT {most}")
            with cursor.fetch_record_batch() as reader:
                return reader.schema

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        """The rows of a query in batches, as the database sends them."""
        with plain_errors(self._table), self._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**_batch_options(self._table.scheme))
            cursor.execute(sql)
            with cursor.fetch_record_batch() as reader:
                yield from reader

    def create(self, name: str, rows: pa.RecordBatchReader, schema: str | None = None) -> None:
        """Create a table of these rows."""
        with plain_errors(self._table), self._connection.cursor() as cursor:
            cursor.adbc_ingest(name, rows, mode="create", db_schema_name=schema)

    def commit(self) -> None:
        """Make all that was written since the last commit visible to others."""
        with plain_errors(self._table):
            self._connection.commit()

    def rollback(self) -> None:
        """Undo all that was written since the last commit."""
        with plain_errors(self._table):
            self._connection.rollback()


def _batch_options(scheme: str) -> Mapping[str, str]:
    """How much a driver puts into a batch; DuckDB has a size of its own."""
    if scheme == "postgresql":
        return {"adbc.postgresql.batch_size_hint_bytes": str(SIZES.query_batch_bytes)}
    return {"adbc.sqlite.query.batch_rows": str(SIZES.read_batch_rows)} if scheme == "sqlite" else {}


def _driver(table: DatabaseTable, *, writes: bool) -> tuple[str, str | None, Mapping[str, str]]:
    """The library of the driver, its entry point and the options of the connection."""
    module = _imported(table.scheme)
    if table.scheme == "postgresql":
        limit = f"connect_timeout={RETRY_LIMITS.connect_seconds:.0f}&fallback_application_name=fastmetrics"
        address = (
            table.connection if "connect_timeout=" in table.parameters else _with_parameters(table.connection, limit)
        )
        return module._driver_path(), None, {"uri": address}
    if not (writes or os.path.isfile(table.path)):
        absolute = "" if os.path.isabs(table.path) else "; an absolute path has four slashes"
        raise FileFormatError(f"{table.url.shown}: there is no database {table.path!r}{absolute}")
    if table.scheme == "sqlite":
        mode = "rwc" if writes else "ro"
        return module._driver_path(), None, {"uri": f"file:{quote(table.path)}?mode={mode}"}
    mode = "read_write" if writes else "read_only"
    options = {"path": table.path, "access_mode": mode, "autoinstall_known_extensions": "false"}
    if table.query is not None:  # which could read any file; a view is the choice of the database's owner
        options["enable_external_access"] = "false"
    return module.driver_path(), "duckdb_adbc_init", options


def _check_one_statement(table: DatabaseTable, query: str) -> None:
    """Raise ``FileFormatError`` unless a query is one statement: DuckDB executes several, and COPY writes files."""
    import duckdb

    try:
        count = len(duckdb.extract_statements(query))
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise FileFormatError(f"{table.url.shown}: {reason}{advice_for(query, reason)}") from None
    if count != 1:
        raise FileFormatError(f"{table.url.shown}: got {count} statements{advice_for('', '')}")


def _imported(scheme: str) -> Any:
    """The package of a driver."""
    try:
        import adbc_driver_manager  # noqa: F401

        return importlib.import_module(f"adbc_driver_{scheme}")
    except ImportError:
        if scheme == "postgresql":
            raise MissingExtraError.of("adbc-driver-postgresql", "postgres") from None
        if scheme == "sqlite":
            raise MissingExtraError.of("adbc-driver-sqlite", "sqlite") from None
        raise MissingExtraError.of("duckdb", "duckdb") from None


def _with_parameters(address: str, more: str) -> str:
    return f"{address}{'&' if '?' in address else '?'}{more}"
