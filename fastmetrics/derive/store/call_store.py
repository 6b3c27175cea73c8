"""A store on disk of all calls and their results, so that no call is paid for twice."""

from __future__ import annotations

import math
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fastmetrics.base.errors import Argument, OutputError
from fastmetrics.derive.calls.call import REPLY, Answer, Call, Model
from fastmetrics.derive.store.store_file import StoreFile
from fastmetrics.tables.small_files import local_path

_KEYS = 500
"""Number of keys looked up by one statement."""

_MARK = 0x666D6373
"""The application id of such stores among SQLite databases: "fmcs"."""

_COLUMNS = "outcome, body, prompt_tokens, completion_tokens, latency_ms, time, attempt"

_TABLES = (
    """
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
    """,
    "create table if not exists claims (key blob primary key, claimant text not null) strict",
    """
    create table if not exists claimants (
        name text primary key, machine text not null, process integer not null, beat integer not null
    ) strict
    """,
)
"""The calls, and the runs that are making some of them now; the row ids of calls are in the order of their results."""


def _total(name: str) -> str:
    """SQL: the tokens of all replies to a call; a reply that is replaced was paid for too."""
    old, new = f"calls.{name}", f"excluded.{name}"
    return f"coalesce({old} + {new}, {old}, {new})"


_PUT = f"""
insert into calls (key, model, endpoint, repeat, {_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (key) do update set outcome = excluded.outcome, body = excluded.body,
    prompt_tokens = {_total("prompt_tokens")}, completion_tokens = {_total("completion_tokens")},
    latency_ms = excluded.latency_ms, time = excluded.time, attempt = excluded.attempt,
    rowid = (select max(rowid) + 1 from calls)
where calls.outcome != '{REPLY}' or (? and excluded.outcome = '{REPLY}')
"""

_ROWS = f"""
select key, model, endpoint, repeat, {_COLUMNS} from calls where (time, key) > (?, ?) order by time, key limit ?
"""


class CallStore:
    """A store of calls in one SQLite file, which several threads and processes may share.

    A reply is final: only another reply requested on purpose replaces it, and the tokens of a call are then those of
    all its replies.  A failure is recorded until a reply arrives.  Everything written by ``put`` survives the end of
    the process, even a crash.  Results that cannot be written, on a full disk for example, are kept in memory for
    ``save``.  A store whose file or folder cannot be written is ``read_only``.

    >>> import tempfile, pathlib
    >>> from fastmetrics.derive.calls.call import CallMaker, Message
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
        self._unsaved: dict[bytes, tuple[Any, ...]] = {}
        if not create and not self.path.exists():
            raise OutputError(f"{self.path}: no such store of calls")
        with self._failing():
            self._file = StoreFile(self.path)
        self._connection = self._file.connection
        self.read_only = self._file.read_only
        try:
            with self._failing():
                self._open()
        except BaseException:
            self._file.close()
            raise

    def _open(self) -> None:
        if self.read_only:
            self._check_mark()
            return
        self._connection.execute("begin immediate")  # another run may be creating the same store
        try:
            if self._check_mark():
                self._connection.execute(f"pragma application_id = {_MARK}")
            for statement in _TABLES:
                self._connection.execute(statement)
        finally:
            self._connection.execute("commit")
        self._file.log_changes()
        self._connection.execute("pragma synchronous = normal")

    def _check_mark(self) -> bool:
        """Whether the database is empty; raises ``OutputError`` for one that is not a store."""
        [mark] = self._connection.execute("pragma application_id").fetchone()
        [tables] = self._connection.execute("select count(*) from sqlite_master").fetchone()
        if mark != _MARK and (tables or self.read_only):
            raise OutputError(f"{self.path} is a database, but not a store of calls; use another file")
        return bool(mark != _MARK)

    def __enter__(self) -> CallStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; closing it twice does nothing."""
        with self._lock:
            self._file.close()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except OutputError:
            raise
        except (sqlite3.Error, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise OutputError(f"the store of calls {self.path}: {reason}") from error

    def check_writable(self, missing: int) -> None:
        """Raise ``OutputError`` if the store is read-only and so many calls are to be made."""
        if self.read_only and missing:
            raise OutputError(
                f"the store of calls {self.path} can only be read, and {missing:,} calls are not in it; no call was "
                "made; make the file and its folder writable, or choose another ",
                Argument("store"),
            )

    @property
    def last(self) -> int:
        """The place of the latest result in the order of arrival; later results have higher places."""
        [[place]] = self.select("select coalesce(max(rowid), 0) from calls")
        return int(place)

    def select(self, query: str) -> list[Any]:
        """The rows of a query."""
        with self._lock, self._failing():
            return self._connection.execute(query).fetchall()

    def change(self, statement: str, values: Sequence[Any]) -> int:
        """The number of rows that a statement changed."""
        with self._lock, self._failing():
            return self._connection.execute(statement, values).rowcount

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Answer]:
        """The stored results of some calls by key, looked up in groups of hundreds."""
        answers: dict[bytes, Answer] = {}
        with self._lock, self._failing():
            for start in range(0, len(keys), _KEYS):
                some = keys[start : start + _KEYS]
                marks = ",".join("?" * len(some))
                query = f"select key, {_COLUMNS}, rowid from calls where key in ({marks})"
                for key, *values in self._connection.execute(query, some):
                    answers[key] = Answer(*values)
        return answers

    def put(self, call: Call, model: Model, answer: Answer, *, replace: bool = False) -> Answer:
        """Store the result of a call, and return the stored result.

        If a reply is already stored, for example by another process, that reply stays and is returned, unless
        ``replace`` is set.  Raises ``OutputError`` if the result cannot be written now; ``save`` tries again.
        """
        row = (call.key, model.name, model.endpoint, call.repeat, *answer[:-1], replace)
        try:
            self.change(_PUT, row)
        except OutputError:
            self._unsaved[call.key] = row
            raise
        return self.find([call.key])[call.key]

    def save(self) -> int:
        """Write the results that could not be written before; returns the number that still cannot."""
        for key, row in list(self._unsaved.items()):
            try:
                self.change(_PUT, row)
            except OutputError:
                break
            del self._unsaved[key]
        return len(self._unsaved)

    @property
    def unsaved(self) -> int:
        """The number of results that are only in memory."""
        return len(self._unsaved)

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
