"""Claims of calls in a store, so that of several runs only one sends a call, and the others wait for its reply."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Collection
from contextlib import suppress
from functools import cache
from pathlib import Path

from fastmetrics.derive.store.call_store import CallStore

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
