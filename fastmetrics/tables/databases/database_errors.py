"""Errors of database drivers in one line without secrets; a lost connection is apart, because it can be made again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from fastmetrics.base.errors import FastmetricsError, FileFormatError
from fastmetrics.tables.databases.database_address import DatabaseTable

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
_READS = re.compile(r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(?:select|with|values|table|from)\b", re.IGNORECASE | re.DOTALL)
"""How a query begins that reads; databases put it into another query, where they call others a syntax error."""
_WRITES = re.compile(
    "read-?only|data-modifying|multiple commands|SELECT ... INTO"
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
        raise FileFormatError(f"{table.url.shown}: {reason}{advice_for(table.query, reason)}") from None


def advice_for(query: str | None, reason: str) -> str:
    """What a query must be, to follow the error of one that does more than read.

    >>> advice_for("delete from answers", 'syntax error at or near "from"')
    '; the query must be one SELECT that only reads, as in "select id, answer, reference from answers"'
    >>> advice_for("select nosuch from answers", 'column "nosuch" does not exist')
    ''
    """
    if query is None:
        return ""
    several = ";" in query and "syntax error" in reason
    return _ADVICE if several or _READS.match(query) is None or _WRITES.search(reason) is not None else ""


def _reason(text: str, table: DatabaseTable) -> str:
    """What the server or the driver says, in one line."""
    for secret in table.secrets:
        text = text.replace(secret, _MASK)
    stated = _SEVERITY.search(text)
    line = stated[1] if stated is not None else _STATUS.sub("", text.strip()).partition("\n")[0]
    line = line.removeprefix("Failed to connect: ")
    return line.strip() or "the driver gives no reason"
