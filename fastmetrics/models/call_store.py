"""A store on disk of all calls and their results, which several runs may share, so that no call is paid for twice."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import socket
import sqlite3
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from fastmetrics.base.display import Grid, Shown
from fastmetrics.base.errors import Argument, OptionError, OutputError
from fastmetrics.base.limits import SIZES
from fastmetrics.models.calls import BUDGET, REPLY, Answer, Call, Model
from fastmetrics.results.prices import Prices, price_of, price_table
from fastmetrics.tables.addresses import as_local, is_url
from fastmetrics.tables.input_files import WORK_SUFFIX, local_path
from fastmetrics.tables.outputs import table_target, write_whole
from fastmetrics.tables.targets import make_private_folder

# Opening the SQLite file of a store of calls: a new one for its owner alone, one that can only be read as it is.


IN_MEMORY = Path(":memory:")
"""The path of a store that ends with its run."""

_PATIENCE = 60.0
"""Seconds to wait for another process to finish writing."""

_BETWEEN_TRIES = 0.02


class StoreFile:
    """A connection to the SQLite file of a store.

    A new file can be read and written by its owner alone, and so can the folders that are created for it; SQLite gives
    its temporary files the same permissions.  If the file or its folder cannot be written, the connection is
    ``read_only``.  SQLite then needs its shared memory beside the file, or a file without a log of changes; a log that
    an earlier run left is read in a temporary copy.
    """

    def __init__(self, path: Path) -> None:
        self.read_only = path != IN_MEMORY and path.exists() and not _is_writable(path)
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        if self.read_only:
            self.connection = self._open_to_read(path)
            return
        if path != IN_MEMORY:
            make_private_folder(path.parent)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self.connection = _connect(str(path))

    def _open_to_read(self, path: Path) -> sqlite3.Connection:
        log = Path(f"{path}-wal")
        if not (log.exists() and log.stat().st_size):
            return _connect(f"{_uri(path)}?mode=ro&immutable=1", uri=True)
        connection = _connect(f"{_uri(path)}?mode=ro", uri=True)
        try:
            connection.execute("pragma schema_version").fetchone()
        except sqlite3.OperationalError:
            connection.close()
        else:
            return connection
        self._copy = tempfile.TemporaryDirectory(prefix="fastmetrics-")
        copied = Path(self._copy.name) / path.name
        for source in (path, log):
            shutil.copyfile(source, copied.with_name(source.name))
        return _connect(str(copied))

    def log_changes(self) -> None:
        """Let readers and one writer work at the same time, by a log of changes beside the file."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                self.connection.execute("pragma journal_mode = wal")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                # another run is opening the store, for which SQLite does not wait here
                time.sleep(_BETWEEN_TRIES)
            else:
                return

    def close(self) -> None:
        """Close the connection; closing it twice does nothing."""
        self.connection.close()
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None


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


def _uri(path: Path) -> str:
    return f"file:{quote(str(path.absolute()))}"


def _connect(path: str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False, uri=uri)


# A store on disk of all calls and their results, so that no call is paid for twice.


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


# Claims of calls in a store, so that of several runs only one sends a call, and the others wait for its reply.


BEAT = 5.0
"""Seconds between the signs of life of a run."""

_SILENCE = 60.0
"""Seconds without a sign of life after which a run counts as dead."""

_TAKE = """
insert into claims (key, claimant) values (?, ?)
on conflict (key) do update set claimant = excluded.claimant where claimant = excluded.claimant
"""
"""Claim a call that is free, or this run's own already."""


class CallClaims:
    """The claims of one run; ``take`` a call before it is sent, and ``release`` it when its result is stored.

    A run gives signs of life by raising a number in the store.  A run whose number stands still for a minute, by the
    observer's monotonic clock, or whose process has ended on this machine, has lost its claims.
    """

    def __init__(self, store: CallStore) -> None:
        self._store = store
        self._name = uuid.uuid4().hex
        self._registered = False
        self._seen: dict[str, tuple[int, float]] = {}
        """The last sign of life of the other runs, and when it was first seen."""

    def take(self, key: bytes) -> bool:
        """Claim a call; returns whether no other run has claimed it."""
        if not self._registered:
            row = (self._name, _machine(), os.getpid())
            self._store.change("insert into claimants (name, machine, process, beat) values (?, ?, ?, 0)", row)
            self._registered = True
        return bool(self._store.change(_TAKE, (key, self._name)))

    def release(self, key: bytes) -> None:
        """End the claim of a call."""
        self._store.change("delete from claims where key = ? and claimant = ?", (key, self._name))

    def beat(self) -> None:
        """Give a sign of life."""
        if self._registered:
            self._store.change("update claimants set beat = beat + 1 where name = ?", (self._name,))

    def free(self, keys: Collection[bytes]) -> list[bytes]:
        """Those of some calls that no other run is working on any more; claims of dead runs are deleted."""
        claimed = set()
        query = "select key, claimant, machine, process, beat from claims left join claimants on claimant = name"
        dead = set()
        for key, name, machine, process, beat in self._store.select(query):
            if name != self._name and not self._is_alive(name, machine, process, beat):
                dead.add(name)
            else:
                claimed.add(key)
        for name in dead:
            self._forget(name)
        return [key for key in keys if key not in claimed]

    def close(self) -> None:
        """End all claims of this run."""
        if self._registered:
            self._forget(self._name)
            self._registered = False

    def _forget(self, name: str) -> None:
        self._store.change("delete from claims where claimant = ?", (name,))
        self._store.change("delete from claimants where name = ?", (name,))

    def _is_alive(self, name: str, machine: str | None, process: int | None, beat: int | None) -> bool:
        if machine is None or process is None or beat is None:
            return False  # another run has just declared it dead
        if machine == _machine() and _has_ended(process):
            return False
        now = time.monotonic()
        last, since = self._seen.get(name, (-1, now))
        if beat != last:
            since = now
        self._seen[name] = (beat, since)
        return now - since < _SILENCE


@cache
def _machine() -> str:
    """The name of this machine since its start; on Linux also of its processes, which containers have of their own."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _has_ended(process: int) -> bool:
    """Whether no process of this machine has this number; False if unknown."""
    if os.name != "posix":
        return False  # on Windows, signal 0 would end the process
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


# The store of a run's calls, shared with other runs, and what happens when it can be written no longer.


_SPACE = 60.0
"""Seconds to wait for space on the disk of the store before replies that are only in memory are lost."""

_BETWEEN_WRITES = 0.5
_BETWEEN_LOOKS = 0.1
"""Seconds between looks at the claims of other runs."""


class SharedStore:
    """The results of one run: a call that another run has claimed is left to it, and its reply is waited for.

    After an ``error`` of the store, or of the run's output, no further call is to be made.  The replies to those in
    progress are waited for, kept in memory, and stored by ``end`` as soon as there is space.
    """

    def __init__(self, store: CallStore, model: Model) -> None:
        self._store, self._model = store, model
        self._claims = CallClaims(store)
        self._elsewhere: dict[bytes, Callable[[], None]] = {}
        self._last = store.last
        self.in_progress: set[bytes] = set()
        """Calls that were sent, and whose results are not stored yet."""
        self.error: OutputError | None = None

    def is_old(self, answer: Answer) -> bool:
        """Whether an answer was stored before this run began; clocks do not matter."""
        return answer.place <= self._last

    def holds(self, answer: Answer, *, again: bool) -> bool:
        """Whether an answer is a reply that is not to be requested ``again``."""
        return answer.outcome == REPLY and not (again and self.is_old(answer))

    def take(self, call: Call, free: Callable[[], None]) -> bool:
        """Claim a call; if another run has claimed it, ``free`` is called when that claim ends."""
        is_claimed = self._claims.take(call.key)
        if not is_claimed:
            self._elsewhere[call.key] = free
        return is_claimed

    def find(self, call: Call, *, again: bool) -> Answer | None:
        """The stored reply, if it is not to be requested ``again``; ends the claim if there is one."""
        answer = self._store.find([call.key]).get(call.key)
        if answer is None or not self.holds(answer, again=again):
            return None
        self._claims.release(call.key)
        return answer

    def put(self, call: Call, answer: Answer, *, again: bool) -> Answer:
        """Store the result of a call and end its claim; a call without a request has no result to store."""
        if answer.outcome != BUDGET:
            answer = self._store.put(call, self._model, answer, replace=again)
        self.in_progress.discard(call.key)
        self._claims.release(call.key)
        return answer

    def fail(self, error: OutputError) -> None:
        """Record that no further result can be written."""
        self.error = self.error or error

    def check_end(self) -> None:
        """Raise the error, if there is one and no more replies are expected."""
        if self.error is not None and len(self.in_progress) <= self._store.unsaved:
            raise self.error

    async def watch(self) -> None:
        """Give signs of life to other runs, and free the calls whose claims have ended."""
        beat = time.monotonic()
        while self.error is None:
            await asyncio.sleep(_BETWEEN_LOOKS)
            try:
                if time.monotonic() - beat > BEAT:
                    self._claims.beat()
                    beat = time.monotonic()
                for key in self._claims.free(self._elsewhere) if self._elsewhere else ():
                    self._elsewhere.pop(key)()
            except OutputError as error:
                self.fail(error)
        self.check_end()

    def end(self, error: BaseException | None) -> None:
        """Store the results that are only in memory, and end the claims of this run, which ended with an ``error``.

        Raises ``OutputError`` if results had to be kept, with what became of them.
        """
        unsaved = self._store.unsaved
        end = time.monotonic() + (_SPACE if isinstance(error, Exception) else 0.0)
        while (left := self._store.save()) and time.monotonic() < end:
            time.sleep(_BETWEEN_WRITES)
        with suppress(OutputError):  # the claims of a process that has ended do not count
            self._claims.close()
        if unsaved and isinstance(error, OutputError):
            stored = f"the {unsaved:,} results that could not be written were kept, and are stored now"
            lost = f"{left:,} results that were paid for could not be stored and are lost"
            outcome = f"; no further calls were made; {lost if left else stored}; make space, and run again"
            raise OutputError(error.message, outcome) from error


# Counting, exporting and deleting the calls in a store.


_DAY = 86_400.0

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("model", pa.string()),
        ("endpoint", pa.string()),
        ("repeat", pa.int64()),
        ("outcome", pa.string()),
        ("body", pa.string()),
        ("prompt_tokens", pa.int64()),
        ("completion_tokens", pa.int64()),
        ("latency_ms", pa.float64()),
        ("time", pa.timestamp("ms", "UTC")),
        ("attempt", pa.int64()),
    ]
)
"""The columns of an exported store; ``body`` is the reply as the server sent it, or the failure."""


@dataclass(frozen=True)
class StoredCalls(Shown):
    """The number of stored calls, by model, server and outcome; prints as a table.

    Each count has the tokens of all replies to its calls, and their ``cost``: None without a price of the model.
    """

    counts: Sequence[dict[str, Any]]
    nbytes: int
    priced: bool = False

    def grids(self) -> list[Grid]:
        """One table."""
        header = ("model", "endpoint", "outcome", "calls", "read", "written", *self._cost_header, "first", "last")
        rows = [
            (
                row["model"],
                row["endpoint"],
                row["outcome"],
                f"{row['calls']:,}",
                f"{row['prompt_tokens'] or 0:,}",
                f"{row['completion_tokens'] or 0:,}",
                *("–" if row["cost"] is None else f"{row['cost']:,.4g}" for _ in self._cost_header),
                _day(row["first"]),
                _day(row["last"]),
            )
            for row in self.counts
        ]
        return [Grid(header, rows)] if rows else []

    @property
    def _cost_header(self) -> tuple[str, ...]:
        return ("cost",) if self.priced else ()

    def remarks(self) -> list[str]:
        """The total number of calls."""
        calls = sum(row["calls"] for row in self.counts)
        return [f"{calls:,} calls in {self.nbytes:,} bytes; read and written count tokens of the model"]

    def to_dict(self) -> dict[str, Any]:
        """The size of the store and the counts of its calls."""
        return {"bytes": self.nbytes, "calls": list(self.counts)}


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


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


def export(store: CallStore, out: str | Path, *, overwrite: bool = False, guard: bool = True) -> tuple[int, int]:
    """Write all calls to a file, sorted by time; returns their number, and the number of guarded CSV cells.

    Raises the errors of ``write_whole``, also if the file is the store.
    """
    place = table_target(out, store.path, overwrite=overwrite)
    written = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal written
        for rows in store.rows(SIZES.exported_calls):
            columns = list(zip(*rows, strict=True))
            columns[0] = tuple(key.hex() for key in columns[0])
            columns[9] = tuple(round(seconds * 1000) for seconds in columns[9])
            written += len(rows)
            arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)

    reader = pa.RecordBatchReader.from_batches(SCHEMA, batches())
    quoted = write_whole(reader, place, {"store of calls": store.path.name}, set(), guard=guard)
    return written, quoted


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
