"""A store on disk of all calls and their results, so that no call is paid for twice."""

from __future__ import annotations

import math
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fastmetrics.derive.call import REPLY, Answer, Call, Model
from fastmetrics.errors import OutputError
from fastmetrics.tables.remote.small_files import local_path

_PATIENCE = 60.0
"""Seconds to wait for another process to finish writing."""

_KEYS = 500
"""Number of keys looked up by one statement."""

_MARK = 0x666D6373
"""The application id of such stores among SQLite databases: "fmcs"."""

_COLUMNS = "outcome, body, prompt_tokens, completion_tokens, latency_ms, time, attempt"

_TABLE = """
create table if not exists calls (
    key blob primary key,
    model text not null,
    endpoint text not null,
    repeat integer not null,
    outcome text not null,
    body text not null,
    prompt_tokens integer,
    completion_tokens integer,
    latency_ms real,
    time real not null,
    attempt integer not null
) strict
"""


def _total(name: str) -> str:
    """SQL: the tokens of all replies to a call; a reply that is replaced was paid for too."""
    old, new = f"calls.{name}", f"excluded.{name}"
    return f"coalesce({old} + {new}, {old}, {new})"


_PUT = f"""
insert into calls (key, model, endpoint, repeat, {_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (key) do update set outcome = excluded.outcome, body = excluded.body,
    prompt_tokens = {_total("prompt_tokens")}, completion_tokens = {_total("completion_tokens")},
    latency_ms = excluded.latency_ms, time = excluded.time, attempt = excluded.attempt
where calls.outcome != '{REPLY}' or (? and excluded.outcome = '{REPLY}')
"""

_ROWS = f"""
select key, model, endpoint, repeat, {_COLUMNS} from calls where (time, key) > (?, ?) order by time, key limit ?
"""


class CallStore:
    """A store of calls in one SQLite file, which several threads and processes may share.

    A reply is final: only another reply requested on purpose replaces it, and the tokens of a call are then those of
    all its replies.  A failure is recorded until a reply arrives.  Everything written by ``put`` survives the end of
    the process, even a crash.

    >>> import tempfile, pathlib
    >>> from fastmetrics.derive.call import CallMaker, Message
    >>> model = Model("m", "here")
    >>> call = CallMaker(model, None).call([Message("user", "a")])
    >>> with CallStore(pathlib.Path(tempfile.mkdtemp()) / "calls.sqlite") as store:
    ...     _ = store.put(call, model, Answer("reply", "{}", time=1.0, attempt=1))
    ...     store.find([call.key])[call.key].body
    '{}'

    Raises ``OutputError`` for a file that is not a store or cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        self.path = local_path(path, "store")
        self._lock = threading.Lock()
        if not create and not self.path.exists():
            raise OutputError(f"{self.path}: no such store of calls")
        with self._failing():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
        try:
            with self._failing():
                self._open()
        except BaseException:
            self._connection.close()
            raise

    def _open(self) -> None:
        [mark] = self._connection.execute("pragma application_id").fetchone()
        [tables] = self._connection.execute("select count(*) from sqlite_master").fetchone()
        if mark != _MARK and tables:
            raise OutputError(f"{self.path} is a database, but not a store of calls; use another file")
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute("pragma synchronous = normal")
        if mark != _MARK:
            self._connection.execute(_TABLE)
            self._connection.execute(f"pragma application_id = {_MARK}")

    def __enter__(self) -> CallStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; closing it twice does nothing."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise OutputError(f"the store of calls {self.path}: {reason}") from error

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Answer]:
        """The stored results of some calls by key, looked up in groups of hundreds."""
        found: dict[bytes, Answer] = {}
        with self._lock, self._failing():
            for start in range(0, len(keys), _KEYS):
                some = keys[start : start + _KEYS]
                marks = ",".join("?" * len(some))
                rows = self._connection.execute(f"select key, {_COLUMNS} from calls where key in ({marks})", some)
                for key, *known in rows:
                    found[key] = Answer(*known)
        return found

    def put(self, call: Call, model: Model, answer: Answer, *, replace: bool = False) -> Answer:
        """Store the result of a call, and return the stored result.

        If a reply is already stored, for example by another process, that reply stays and is returned, unless
        ``replace`` is set.
        """
        row = (call.key, model.name, model.endpoint, call.repeat, *answer, replace)
        with self._lock, self._failing():
            if self._connection.execute(_PUT, row).rowcount and not replace:
                return answer
        return self.find([call.key])[call.key]

    def counts(self) -> list[Mapping[str, Any]]:
        """The number of calls per model, endpoint and outcome, with their tokens and first and last times."""
        query = """
            select model, endpoint, outcome, count(*) as calls, sum(prompt_tokens) as prompt_tokens,
                sum(completion_tokens) as completion_tokens, min(time) as first, max(time) as last
            from calls group by model, endpoint, outcome order by model, endpoint, outcome
        """
        with self._lock, self._failing():
            cursor = self._connection.execute(query)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def rows(self, most: int) -> Iterator[list[tuple[Any, ...]]]:
        """All calls sorted by time, in pages of at most this size; calls stored meanwhile may be included."""
        last = (-math.inf, b"")
        while True:
            with self._lock, self._failing():
                rows = self._connection.execute(_ROWS, (*last, most)).fetchall()
            if not rows:
                return
            yield rows
            last = rows[-1][9], rows[-1][0]

    def delete(self, conditions: Sequence[str], values: Sequence[Any]) -> int:
        """Delete the calls that meet all SQL conditions and free their disk space; returns their number."""
        where = " and ".join(conditions) or "false"
        with self._lock, self._failing():
            deleted = self._connection.execute(f"delete from calls where {where}", values).rowcount
            self._connection.execute("vacuum")
            self._connection.execute("pragma wal_checkpoint(truncate)")
        return deleted
