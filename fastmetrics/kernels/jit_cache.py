"""Disk cache of the kernels' machine code, based on private classes of Numba; ``jit`` lists the tested versions."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.runtime.nrt import rtsys

from fastmetrics.core.compile_watch import tell_watchers
from fastmetrics.core.deferred_signals import deferred_signals


class KernelCache(FunctionCache):
    """Numba's disk cache, invalidated by a change in any kernel, with disk errors ignored.

    Numba checks only the kernel's own file, so it would keep stale machine code of changed helpers; ``stamp`` is the
    digest of all kernels' source.  If a file is damaged or the disk is full, the kernel is compiled again.
    """

    def __init__(self, function: Callable[..., Any], stamp: str) -> None:
        super().__init__(function)
        self._cache_file = CheckedFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the machine code from disk, if a readable entry exists.

        Numba would also load all that compilation needs, a third of a second; the compiler does this itself.
        An exception of a signal handler within LLVM's loading, or in a finalizer of its objects, would leave half of
        them freed, and the process ended in a crash.
        """
        loaded = None
        try:
            with deferred_signals(), self._guard_against_spurious_io_errors():
                rtsys.initialize(target_context)
                loaded = self._load_overload(sig, target_context)
        except (OSError, EOFError, pickle.UnpicklingError):
            loaded = None
        if loaded is None:
            tell_watchers()
        return loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the machine code, if the disk has room."""
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, pickle.UnpicklingError):
            self.disable()


class CheckedFiles(IndexDataCacheFile):
    """Numba's index and data files with a digest before the content: a damaged or outdated file counts as missing.

    An entry also holds its key, because two processes that compile at once can use one file name for two entries.
    """

    def load(self, key: Any) -> Any:
        """The entry of ``key``, or None."""
        name = self._load_index().get(key)
        entry = None if name is None else self._load(self._data_path(name))
        return entry[1] if entry is not None and entry[0] == key else None

    def save(self, key: Any, data: Any) -> None:
        """Save an entry under ``key``."""
        super().save(key, (key, data))

    def _load_index(self) -> dict[Any, str]:
        stamp, overloads = self._load(self._index_path) or ("", {})
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._source_stamp, overloads))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _load(self, path: str) -> Any:
        try:
            data = Path(path).read_bytes()
        except FileNotFoundError:
            return None
        if data[:32] != self._digest(data[32:]):
            return None
        try:
            return pickle.loads(data[32:])
        except (AttributeError, ImportError):  # an earlier version wrote it, with names that this one does not have
            return None

    def _write(self, path: str, content: Any) -> None:
        data = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(self._digest(data) + data)

    def _digest(self, data: bytes) -> bytes:
        """A digest of the content and the version of Numba."""
        return hashlib.sha256(self._version.encode() + data).digest()
