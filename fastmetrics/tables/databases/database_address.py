"""The address of a table or a query in a database, and the SQL that names its rows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote, unquote

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.tables.remote.addresses import Url, as_text, is_database, parameters, parse, shown

_OWN = ("table", "query", "order")
_NAME_PART = re.compile(r'"((?:[^"]|"")*)"|([^".]+)')
_NAME = re.compile(r'(?:"(?:[^"]|"")+"|[^".]+)(?:\.(?:"(?:[^"]|"")+"|[^".]+))*')
_EXAMPLES = {
    "postgresql": "postgresql://user@host/database?table=answers",
    "sqlite": "sqlite:///answers.db?table=answers",
    "duckdb": "duckdb:///answers.duckdb?table=answers",
}


@dataclass(frozen=True)
class DatabaseTable:
    """A table, or the rows of a query, in a database; ``order`` names columns whose values give the rows an order.

    >>> rows = DatabaseTable.of("postgresql://db/shop?table=public.answers&order=id")
    >>> rows.relation, rows.order
    ('"public"."answers"', ('id',))
    """

    url: Url
    table: str | None
    query: str | None
    order: tuple[str, ...]
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
        order = tuple(name for name in values.get("order", "").split(",") if name)
        return cls(url, table, query, order, "&".join(pairs))

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
        return hashlib.sha256(repr((self.table, self.query, self.order)).encode()).hexdigest()[:16]


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


def with_query(table: str | Path | Sequence[str | Path], query: str) -> list[str]:
    """The addresses of databases with a query; raises ``OptionError`` for anything else, or for two queries."""
    paths = [table] if isinstance(table, str | Path) else list(table)
    queried = []
    for path in paths:
        if not is_database(path):
            raise OptionError(Argument("query", query), f": {shown(path)} is not the address of a database")
        url = parse(path)
        if {"table", "query"} & parameters(url).keys():
            raise OptionError(Argument("query", query), f": {url.shown} already names a table or a query")
        pair = f"query={quote(query, safe='')}"
        queried.append(as_text(str(replace(url, query="&".join(filter(None, [url.query, pair]))))))
    return queried
