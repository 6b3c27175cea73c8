"""Turns of processes that share a cache folder: one of them compiles a kernel, while the others wait for it."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: each process compiles for itself
    fcntl = None

HAS_TURNS = fcntl is not None

PATIENCE = 60.0
"""Seconds to wait for another process, which may have been stopped (Ctrl-Z), before compiling without a turn."""

_POLL = 0.02

_files: dict[tuple[str, int], int] = {}
"""The lock files that are open, by folder and process; POSIX frees all locks of a file once any handle is closed."""


class Turn:
    """The right to compile the kernel ``name`` of ``folder``: a lock on one byte of a file, freed if the process dies.

    The bytes of kernels are different, and a kernel waits only for those that it calls, so that no processes wait for
    each other in a circle.
    """

    def __init__(self, folder: str, name: str) -> None:
        self._file = _handle(folder)
        self._byte = int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
        self._handle: int | None = None

    def take(self) -> bool:
        """Wait for the turn; whether another process had it before.

        Without file locks, or after a minute, there is no turn, and the kernel is compiled by each process.
        """
        handle = self._file
        if handle is None:
            return False
        end, waited = time.monotonic() + PATIENCE, False
        while time.monotonic() < end:
            try:
                fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._byte)
            except (BlockingIOError, PermissionError):  # another process has it
                waited = True
                time.sleep(_POLL)
            except OSError:  # a file system without locks
                return waited
            else:
                self._handle = handle
                return waited
        return waited

    def give_back(self) -> None:
        """End the turn, if this process has it."""
        if self._handle is not None:
            fcntl.lockf(self._handle, fcntl.LOCK_UN, 1, self._byte)
            self._handle = None


def takes_turns() -> bool:
    """Whether this process can take turns in some folder, from which others can load its kernels."""
    return any(process == os.getpid() for _, process in _files)


def _handle(folder: str) -> int | None:
    """The lock file of a folder, or None if there can be none."""
    if fcntl is None:
        return None
    key = folder, os.getpid()
    if key not in _files:
        try:
            _files[key] = os.open(Path(folder, "fastmetrics.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError:
            return None
    return _files[key]
