"""Databases: the address of a table or a query, connections that only read, and errors without secrets."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa

from fastmetrics.base.errors import Argument, FastmetricsError, FileFormatError, MissingExtraError, OptionError
from fastmetrics.base.limits import RETRY_LIMITS, SIZES
from fastmetrics.tables.addresses import Url, parameters, parse

# The address of a table or a query in a database, and the SQL that names its rows.


_OWN = ("table", "query")
_NAME_PART = re.compile(r'"((?:[^"]|"")*)"|([^".]+)')
_NAME = re.compile(r'(?:"(?:[^"]|"")+"|[^".]+)(?:\.(?:"(?:[^"]|"")+"|[^".]+))*')
_EXAMPLES = {
    "postgresql": "postgresql://user@host/database?table=answers",
    "sqlite": "sqlite:///answers.db?table=answers",
    "duckdb": "duckdb:///answers.duckdb?table=answers",
}


@dataclass(frozen=True)
class DatabaseTable:
    """A table, or the rows of a query, in a database.

    >>> DatabaseTable.of("postgresql://db/shop?table=public.answers").relation
    '"public"."answers"'
    """

    url: Url
    table: str | None
    query: str | None
    parameters: str = field(repr=False)
    """The parameters of the connection."""

    @classmethod
    def of(cls, path: str | Path) -> DatabaseTable:
        """Parse an address; raises ``OptionError`` unless it names a table or a query, and the file of the database."""
        url = parse(path)
        if url.is_garbled:
            expected = (
                "write special characters of the password as %40 (@), %2F (/) or %3F (?), and & in a query as %26"
            )
            raise OptionError(f"{url.shown}: {expected}")
        values = parameters(url)
        pairs = [pair for pair in url.query.split("&") if pair and pair.partition("=")[0] not in _OWN]
        table, query = values.get("table"), values.get("query")
        if (table is None) == (query is None):
            expected = f"expected ?table= or ?query=, as in {_EXAMPLES[url.scheme]}, or "
            raise OptionError(f"{url.shown}: {expected}", Argument("query", "select ..."))
        if url.scheme != "postgresql":
            if url.authority or not url.path.strip("/"):
                raise OptionError(f"{url.shown}: expected three slashes and a path, as in {_EXAMPLES[url.scheme]}")
            if pairs:
                name = pairs[0].partition("=")[0]
                raise OptionError(f"{url.shown}: unknown parameter {name!r}; expected one of {', '.join(_OWN)}")
        if query is not None:
            query = query.strip().rstrip(";")
        for name, value in (("table", table), ("query", query)):
            if value is not None and not value.strip():
                raise OptionError(f"{url.shown}: {name}= is empty; as in {_EXAMPLES[url.scheme]}")
        if table is not None and not _NAME.fullmatch(table):
            expected = 'expected the name of a table, as in answers, public.answers or "answers.2026"'
            raise OptionError(f"{url.shown}: {expected}")
        return cls(url, table, query, "&".join(pairs))

    @property
    def scheme(self) -> str:
        """The kind of database."""
        return self.url.scheme

    @property
    def path(self) -> str:
        """The file of an SQLite or DuckDB database: relative after three slashes, absolute after four."""
        return unquote(self.url.path[1:])

    @property
    def connection(self) -> str:
        """The address of a PostgreSQL database, with its secrets, for the driver."""
        return str(replace(self.url, query=self.parameters))

    @property
    def secrets(self) -> list[str]:
        """Texts that no message may contain."""
        user, _, _ = self.url.authority.rpartition("@")
        password = user.partition(":")[2]
        hidden = [
            value for name, value in parameters(replace(self.url, query=self.parameters)).items() if "pass" in name
        ]
        return sorted({text for text in (password, unquote(password), *hidden) if text}, key=len, reverse=True)

    @property
    def relation(self) -> str:
        """The table, or the query in brackets, for a FROM clause."""
        if self.table is not None:
            return quoted_table(self.table)
        return f"(\n{self.query}\n) AS fastmetrics_rows"  # the query may end in a comment

    @property
    def digest(self) -> str:
        """A digest of what is read, which names a query without showing it."""
        return hashlib.sha256(repr((self.table, self.query)).encode()).hexdigest()[:16]


def quoted(name: str) -> str:
    """A name in SQL.

    >>> quoted("the id")
    '"the id"'
    """
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def table_parts(table: str) -> list[str]:
    """The parts of a table's name: its schema, if it is given, and its own.

    >>> table_parts('public.answers'), table_parts('"answers.2026"')
    (['public', 'answers'], ['answers.2026'])
    """
    return [match[1].replace('""', '"') if match[1] is not None else match[2] for match in _NAME_PART.finditer(table)]


def quoted_table(table: str) -> str:
    """The name of a table in SQL."""
    return ".".join(map(quoted, table_parts(table)))


# Errors of database drivers in one line without secrets; a lost connection is apart, because it can be made again.


_LOST_STATES = ("57P01", "57P02", "57P03", "53300")
_LOST = re.compile(
    "server closed the connection|terminating connection|connection has been closed|could not receive data"
    "|no connection to the server|connection not open|Connection re(fused|set)|timeout expired|starting up"
    "|shutting down|recovery mode|too many (clients|connections)|connection slots are reserved|could not send data"
    "|connection to server was lost|Broken pipe"
)
_SEVERITY = re.compile(r"(?:ERROR|FATAL|PANIC): +(.*)")
_STATUS = re.compile(r"^[A-Z_]+: (\[\w+\] ?)?|^\[\w+\] ?")
_MASK = "***"
_WRITES = re.compile(
    "syntax error|read-?only|data-modifying|multiple commands|SELECT ... INTO"
    '|near "(insert|update|delete|replace|into)"|must be set before any query',
    re.IGNORECASE,
)
_ADVICE = '; the query must be one SELECT that only reads, as in "select id, answer, reference from answers"'


@contextmanager
def plain_errors(table: DatabaseTable) -> Iterator[None]:
    """Raise errors of the drivers as ``FileFormatError``, a lost connection as ``ConnectionError``.

    The errors of the drivers may contain the address with its password, so they are not chained.
    """
    import adbc_driver_manager

    try:
        yield
    except FastmetricsError:
        raise
    except (adbc_driver_manager.Error, pa.ArrowException, OSError) as error:
        reason = _reason(str(error), table)
        state = getattr(error, "sqlstate", None) or ""
        if table.scheme == "postgresql" and (
            state.startswith("08") or state in _LOST_STATES or _LOST.search(str(error)) is not None
        ):
            raise ConnectionError(reason) from None
        advice = _ADVICE if table.query is not None and _WRITES.search(reason) is not None else ""
        raise FileFormatError(f"{table.url.shown}: {reason}{advice}") from None


def _reason(text: str, table: DatabaseTable) -> str:
    """What the server or the driver says, in one line."""
    for secret in table.secrets:
        text = text.replace(secret, _MASK)
    stated = _SEVERITY.search(text)
    line = stated[1] if stated is not None else _STATUS.sub("", text.strip()).partition("\n")[0]
    line = line.removeprefix("Failed to connect: ")
    return line.strip() or "the driver gives no reason"


# Connections to databases that only read: the server, or the driver, refuses every statement that writes.


_READ_ONLY = {
    "postgresql": ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SET LOCAL synchronize_seqscans = off"),
    "sqlite": ("PRAGMA query_only = 1", "BEGIN"),
    "duckdb": ("BEGIN TRANSACTION READ ONLY",),
}
"""What a connection executes first: all that it reads is of one moment, and nothing is written."""


class Session:
    """One connection, which only reads unless it ``writes``, in transactions.

    Raises ``FileFormatError`` if the database refuses, ``ConnectionError`` if the connection is lost or not made, and
    ``MissingExtraError`` without the driver.
    """

    def __init__(self, table: DatabaseTable, *, writes: bool = False) -> None:
        self._table = table
        driver, entrypoint, options = _driver(table, writes=writes)
        from adbc_driver_manager import dbapi

        with plain_errors(table):
            self._connection = dbapi.connect(
                driver=driver, entrypoint=entrypoint, db_kwargs=dict(options), autocommit=not writes
            )
        try:
            for statement in () if writes else _READ_ONLY[table.scheme]:
                self.execute(statement)
            if writes and table.scheme == "postgresql":
                self.execute(f"SET lock_timeout = '{RETRY_LIMITS.lock_seconds * 1e3:.0f}ms'")
            if table.scheme == "postgresql" and table.table is not None:
                self.execute("SET LOCAL max_parallel_workers_per_gather = 0")  # which return rows in any order
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    @contextmanager
    def _cursor(self, sql: str, values: pa.RecordBatch | None = None, **options: str) -> Iterator[Any]:
        """The cursor of a statement, which gets the values of its parameters in binary."""
        with plain_errors(self._table), self._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**options)
            cursor.execute(sql, parameters=values)
            yield cursor

    def execute(self, sql: str) -> None:
        """Execute a statement without rows."""
        with self._cursor(sql):
            pass

    def row(self, sql: str) -> tuple[Any, ...] | None:
        """The first row of a query."""
        with self._cursor(sql) as cursor:
            row = cursor.fetchone()
            return None if row is None else tuple(row)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query that has few."""
        with self._cursor(sql) as cursor:
            return [tuple(row) for row in cursor.fetchall()]

    def bound(self, sql: str, values: pa.RecordBatch) -> pa.Table:
        """All rows of a query with parameters."""
        with self._cursor(sql, values) as cursor:
            return cursor.fetch_arrow_table()

    def plan(self, sql: str) -> Any:
        """The plan of a query of PostgreSQL."""
        with self._cursor(f"EXPLAIN (FORMAT JSON) {sql}", **{"adbc.postgresql.use_copy": "false"}) as cursor:
            (plan,) = cursor.fetchone() or ("[]",)
            return json.loads(plan)

    def schema(self, sql: str) -> pa.Schema:
        """The columns of a query, with the types of the driver; SQLite shows those of the first rows."""
        if self._table.scheme == "postgresql":
            with plain_errors(self._table), self._connection.cursor() as cursor:
                return cursor.adbc_execute_schema(sql)
        most = SIZES.read_batch_rows if self._table.scheme == "sqlite" else 0
        first = f"SELECT * FROM ({sql}\n) AS fastmetrics_first LIMIT {most}"
        with self._cursor(first, **_batch_options(self._table.scheme)) as cursor, cursor.fetch_record_batch() as reader:
            return reader.schema

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        """The rows of a query in batches, as the database sends them."""
        with self._cursor(sql, **_batch_options(self._table.scheme)) as cursor, cursor.fetch_record_batch() as reader:
            yield from reader

    def create(self, name: str, rows: pa.Table | pa.RecordBatchReader, schema: str | None = None) -> None:
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
        address = table.connection
        if "connect_timeout=" not in table.parameters:
            address += f"{'&' if '?' in address else '?'}{limit}"
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


# Several connections to one database, each of which one thread uses at a time.


class Connections:
    """Up to ``most`` sessions that ``connect`` makes; ``count`` is how many the server allows.

    Raises what ``connect`` raises for the first of them.
    """

    def __init__(self, connect: Callable[[], Session], most: int) -> None:
        self._free: SimpleQueue[Session] = SimpleQueue()
        self._closed = False
        self.count = 0
        try:
            for _ in range(most):
                self._free.put(connect())
                self.count += 1
        except ConnectionError:  # the server or the role has a limit
            if not self.count:
                raise
        except BaseException:
            self.close()
            raise

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A session that no other thread uses meanwhile."""
        session = self._free.get()
        try:
            yield session
        finally:
            self._free.put(session)
            if self._closed:
                self.close()

    def close(self) -> None:
        """Close all sessions; one in use, which must not be closed by another thread, when its thread is done."""
        self._closed = True
        while True:
            try:
                session = self._free.get_nowait()
            except Empty:
                return
            session.close()
