"""The order of the rows of a table or a query: whether it is the same each time, and whether the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastmetrics.base.errors import ColumnError, UnknownNameError
from fastmetrics.tables.databases.database_address import DatabaseTable, quoted, quoted_table
from fastmetrics.tables.databases.sessions import Session

_UNNAMED = (
    "the rows of a query have no order that is the same each time; name columns whose values are unique, "
    "as in ?order=id or &order=document,chunk"
)
_KEYLESS = (
    "the table has no primary key, so its rows have no order that is the same each time; name columns whose values "
    "are unique, as in &order=id"
)
_PRIMARY_KEY = """
SELECT a.attname FROM pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY AS key(number, place), pg_attribute a
WHERE i.indrelid = '{table}'::regclass AND i.indisprimary AND a.attrelid = i.indrelid AND a.attnum = key.number
ORDER BY key.place
"""
_HAS_VERSIONS = "SELECT relkind IN ('r', 'm') FROM pg_class WHERE oid = '{table}'::regclass"


@dataclass(frozen=True)
class RowOrder:
    """The ``ORDER BY`` of the rows; ``content`` identifies the rows of PostgreSQL, ``reason`` says what is missing."""

    is_stable: bool
    sql: str
    reason: str = ""
    content: str | None = None
    content_sql: str | None = None

    def changed(self, session: Session) -> bool:
        """Whether the rows are not those at the beginning; rows without an order cannot be compared."""
        if self.content_sql is None:
            return not self.is_stable
        return _content(session, self.content_sql) != self.content


def row_order(table: DatabaseTable, session: Session, names: Sequence[str]) -> RowOrder:
    """The order of the rows.

    It is that of the columns in the address, or of the primary key of a table.  A table of SQLite or DuckDB has the
    order in which its rows are stored.  Raises ``ColumnError`` if the columns in the address are missing, or if their
    values do not give each row its place.
    """
    for name in table.order:
        if name not in names:
            raise ColumnError(f"{table.url.shown}: order: {UnknownNameError.of('column', name, names)}")
    keys = list(table.order)
    if keys:
        _check_unique(table, session, keys)
    elif table.scheme != "postgresql":
        return RowOrder(table.table is not None, "", _UNNAMED)
    elif table.table is not None:
        keys = [row[0] for row in session.rows(_PRIMARY_KEY.format(table=_literal(table.table)))]
    if not keys:
        return RowOrder(False, "", _UNNAMED if table.table is None else _KEYLESS)
    sql = f" ORDER BY {', '.join(map(quoted, keys))}"
    if table.scheme != "postgresql":
        return RowOrder(True, sql)
    content_sql = _content_sql(table, session)
    return RowOrder(True, sql, "", _content(session, content_sql), content_sql)


def _literal(table: str) -> str:
    return quoted_table(table).replace("'", "''")


def _check_unique(table: DatabaseTable, session: Session, keys: Sequence[str]) -> None:
    """Raise ``ColumnError`` unless no two rows have the same values, and none is null."""
    columns = ", ".join(map(quoted, keys))
    repeated = f"SELECT 1 FROM {table.relation} GROUP BY {columns} HAVING COUNT(*) > 1 LIMIT 1"
    absent = f"SELECT 1 FROM {table.relation} WHERE {' OR '.join(f'{quoted(key)} IS NULL' for key in keys)} LIMIT 1"
    for sql, what in ((repeated, "several rows have the same values"), (absent, "a value is null")):
        if session.row(sql) is not None:
            columns = ", ".join(map(repr, keys))
            raise ColumnError(f"{table.url.shown}: order by {columns}: {what}; expected values that are unique")


def _content_sql(table: DatabaseTable, session: Session) -> str:
    """A query for the identity of the rows: of a table, the sum of the versions of its rows; else a sum of digests."""
    if table.table is not None:
        row = session.row(_HAS_VERSIONS.format(table=_literal(table.table)))
        if row is not None and row[0]:
            return f"SELECT count(*), sum(xmin::text::bigint)::text FROM {table.relation}"
    name = "fastmetrics_rows" if table.table is None else "fastmetrics_table"
    relation = table.relation if table.table is None else f"{table.relation} AS {name}"
    return f"SELECT count(*), sum(hashtextextended({name}::text, 0)::numeric)::text FROM {relation}"


def _content(session: Session, sql: str) -> str:
    row: tuple[Any, ...] | None = session.row(sql)
    return "" if row is None else f"{row[0]} rows, {row[1]}"
