"""A store on disk of all calls and their results, which several runs may share, so that no call is paid for twice.

**Runs that share a store** share it by SQLite's own locks. Each looks into it before it sends a call, so that only a
call which two of them have on the wire at the same moment may be paid for twice. Whether a reply is older than the run
(``--retry``) follows from the order of arrival in the store. So no step of a clock repeats a call.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tenacity

from fastmetrics.base.display import Grid, Shown, lines_of
from fastmetrics.base.errors import Argument, OptionError, OutputError
from fastmetrics.base.notes import Note
from fastmetrics.metrics.prices import Prices, price_of, price_table
from fastmetrics.models.calls import REPLY, Answer, Call, Model
from fastmetrics.tables.addresses import WORK_SUFFIX, as_local, is_url
from fastmetrics.tables.input_files import local_path
from fastmetrics.tables.targets import make_private_folder

# The file of a store: where it may be, and how it is opened.


IN_MEMORY = Path(":memory:")
"""The path of a store that ends with its run."""

_PATIENCE = 10.0
"""Seconds to wait for another process to finish writing."""

_SHORT_PATIENCE = 2.0
"""Seconds to wait if the contents of a store are only shown or pruned."""

_BETWEEN_TRIES = 0.02


def check_apart(store: Path, output: str | Path) -> None:
    """Raise ``OutputError`` if an output, or a file that is written beside it, is the store or would contain it."""
    where = as_local(output)
    if is_url(where) or store == IN_MEMORY:
        return
    for path in (
        Path(f"{where.rstrip(os.sep)}{ending}") for ending in ("", ".meta.json", ".rejects.jsonl", WORK_SUFFIX)
    ):
        same = path.exists() and store.exists() and os.path.samefile(path, store)
        if same or Path(os.path.realpath(store)).is_relative_to(os.path.realpath(path)):
            raise OutputError(f"{path} is the store of calls {store}, or contains it; write to another name")


def _is_writable(path: Path) -> bool:
    """Whether a file can be written, with the files that SQLite makes beside it."""
    return os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK)


def _connect(path: Path, *, read_only: bool, patience: float) -> sqlite3.Connection:
    """A connection to the file of a store; a new one can be read and written by its owner alone.

    SQLite gives its temporary files the same permissions.  A file that can only be read is read as it is, without the
    memory that SQLite shares between processes, unless a run has left its log of changes.
    """
    address = str(path)
    if read_only:
        log = Path(f"{path}-wal")
        has_log = log.exists() and log.stat().st_size
        address = f"file:{quote(str(path.absolute()))}?mode=ro{'' if has_log else '&immutable=1'}"
    elif path != IN_MEMORY:
        make_private_folder(path.parent)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    return sqlite3.connect(address, timeout=patience, isolation_level=None, check_same_thread=False, uri=read_only)


# A store on disk of all calls and their results, so that no call is paid for twice.


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
"""The calls; the row ids are in the order of their results."""


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
returning {_COLUMNS}, rowid
"""


class CallStore:
    """A store of calls in one SQLite file, which several threads and processes may share.

    A reply is final: only another reply requested on purpose replaces it, and the tokens of a call are then those of
    all its replies.  A failure is recorded until a reply arrives.  Everything written by ``put`` survives the end of
    the process, even a crash.  A store whose file or folder cannot be written is ``read_only``.

    >>> import tempfile, pathlib
    >>> from fastmetrics.models.calls import CallMaker, Message
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
        self.read_only = self.path != IN_MEMORY and self.path.exists() and not _is_writable(self.path)
        with self._failing():
            patience = _PATIENCE if create else _SHORT_PATIENCE
            self._connection = _connect(self.path, read_only=self.read_only, patience=patience)
        try:
            with self._failing():
                if self.read_only or not create:
                    self._check_mark(create=False)
                else:
                    self._open()
        except BaseException:
            self._connection.close()
            raise

    def _open(self) -> None:
        self._connection.execute("begin immediate")  # another run may be creating the same store
        try:
            if self._check_mark(create=True):
                self._connection.execute(f"pragma application_id = {_MARK}")
            self._connection.execute(_TABLE)
        finally:
            self._connection.execute("commit")
        # readers and one writer work at the same time; SQLite does not wait here for another run that opens the store
        busy = tenacity.retry_if_exception(lambda error: getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_BUSY)
        patience, pause = tenacity.stop_after_delay(_PATIENCE), tenacity.wait_fixed(_BETWEEN_TRIES)
        waiting = tenacity.Retrying(retry=busy, stop=patience, wait=pause, reraise=True)
        waiting(self._connection.execute, "pragma journal_mode = wal")
        self._connection.execute("pragma synchronous = normal")

    def _check_mark(self, *, create: bool) -> bool:
        """Whether the database is empty; raises ``OutputError`` for one that is not a store."""
        [mark] = self._connection.execute("pragma application_id").fetchone()
        [tables] = self._connection.execute("select count(*) from sqlite_master").fetchone()
        if mark != _MARK and (tables or not create):
            raise OutputError(f"{self.path} is a database, but not a store of calls; use another file")
        return bool(mark != _MARK)

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
        except OutputError:
            raise
        except (sqlite3.Error, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_BUSY:
                reason = "another process is writing to it; try again"
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
        with self._lock, self._failing():
            [place] = self._connection.execute("select coalesce(max(rowid), 0) from calls").fetchone()
        return int(place)

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
        ``replace`` is set.  Raises ``OutputError`` if the result cannot be written.
        """
        row = (call.key, model.name, model.endpoint, call.repeat, *answer[:-1], replace)
        with self._lock, self._failing():
            written = self._connection.execute(_PUT, row).fetchall()
        return Answer(*written[0]) if written else self.find([call.key])[call.key]

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

    def delete(self, conditions: Sequence[str], values: Sequence[Any]) -> int:
        """Delete the calls that meet all SQL conditions and free their disk space; returns their number."""
        where = " and ".join(conditions) or "false"
        with self._lock, self._failing():
            deleted = self._connection.execute(f"delete from calls where {where}", values).rowcount
            self._connection.execute("vacuum")
            self._connection.execute("pragma wal_checkpoint(truncate)")
        return deleted


# Counting and deleting the calls in a store.


_DAY = 86_400.0


@dataclass(frozen=True)
class StoredCalls(Shown):
    """The number of stored calls, by model, server and outcome; prints as a table.

    Each count has the tokens of all replies to its calls, and their ``cost``: None without a price of the model.
    """

    counts: Sequence[dict[str, Any]]
    nbytes: int
    priced: bool = False

    def records(self) -> Sequence[Mapping[str, Any]]:
        """The counts."""
        return self.counts

    def grids(self) -> list[Grid]:
        """One table."""
        days = ((name, lambda row, name=name: _day(row[name])) for name in ("first", "last"))
        tokens = (
            ("read", lambda row: row["prompt_tokens"] or 0),
            ("written", lambda row: row["completion_tokens"] or 0),
        )
        cost = ("cost",) if self.priced else ()
        grid = lines_of(self.counts, "model", "endpoint", "outcome", "calls", *tokens, *cost, *days)
        return [grid] if self.counts else []

    def remarks(self) -> list[str]:
        """The total number of calls."""
        return [Note("calls", n=sum(row["calls"] for row in self.counts), bytes=self.nbytes)]

    def to_dict(self) -> dict[str, Any]:
        """The size of the store and the counts of its calls."""
        return {"bytes": self.nbytes, "calls": list(self.counts)}


_LAST_SECOND = 253_402_300_799.0
"""The end of the year 9999."""


def _milliseconds(seconds: float) -> int | None:
    """A time in milliseconds; None for one that no calendar has."""
    return round(seconds * 1000) if 0 <= seconds <= _LAST_SECOND else None


def _day(seconds: float) -> str:
    milliseconds = _milliseconds(seconds)
    return "–" if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d")


def stored_calls(store: str | Path, *, prices: Prices | None = None) -> StoredCalls:
    """The number of calls in a store, by model, server and outcome, with the tokens of their replies.

    ``store`` is the file of a store, as in :func:`judge` and the bots.  ``prices``, a table or a file as in
    :func:`judge`, adds the cost of all replies.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "calls.sqlite"
    >>> CallStore(path).close()
    >>> stored_calls(path).counts
    []

    Raises ``OutputError`` if there is no store of calls, or the file is none.
    """
    with CallStore(Path(store), create=False) as calls:
        return overview(calls, prices)


def overview(store: CallStore, prices: Prices | None = None) -> StoredCalls:
    """The contents of a store, with costs by a table of ``prices``, as in :func:`price_of`, for the models in it."""
    table = {} if prices is None else price_table(prices)
    counts = []
    for row in store.counts():
        price = price_of(str(row["model"]), table) if row["model"] in table else None
        tokens = (row["prompt_tokens"] or 0, row["completion_tokens"] or 0)
        counts.append({**row, "cost": None if price is None else price.cost(*tokens)})
    return StoredCalls(counts, store.path.stat().st_size, prices is not None)


def prune_calls(store: CallStore, conditions: Sequence[str]) -> int:
    """Delete the calls that meet all conditions: ``failures``, ``model=NAME``, ``endpoint=NAME``, ``days=NUMBER``.

    Returns their number.  Raises ``OptionError`` for an unknown condition.
    """
    clauses: dict[str, Any] = {}
    for condition in conditions:
        name, _, value = condition.partition("=")
        if condition == "failures":
            clauses["outcome != 'reply'"] = None
        elif name in ("model", "endpoint") and value:
            clauses[f"{name} = ?"] = value
        elif name == "days" and _is_number(value):
            clauses["time < ?"] = time.time() - float(value) * _DAY
        else:
            expected = "expected failures, model=NAME, endpoint=NAME or days=NUMBER"
            raise OptionError(Argument("prune", condition), ": ", expected)
    return store.delete(list(clauses), [value for value in clauses.values() if value is not None])


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()
