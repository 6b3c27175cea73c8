"""The decorators kernels wear."""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile ``function`` at its first call, without the GIL, keeping the machine code on disk.

    Under ``NUMBA_DISABLE_JIT=1`` the function runs as plain Python, with the wrap-around of unsigned integers that
    hashing relies on made silent.  Where no folder for the cache can be written, it compiles anew in each process.
    """
    return _compiled(function)


def leaf(function: F) -> F:
    """A kernel that makes no arrays: the references to those it is given are not counted, which makes calls cheap."""
    return _compiled(function, _nrt=False)


def _compiled(function: F, **options: Any) -> F:
    config: Any = numba.config
    if config.DISABLE_JIT:

        @functools.wraps(function)
        def interpreted(*args: Any) -> Any:
            with np.errstate(over="ignore"):
                return function(*args)

        return cast(F, interpreted)
    compiled: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    try:
        compiled._cache = KernelCache(function)
    except RuntimeError:  # Numba's "no locator available": neither the package nor the user's cache is writable
        return cast(F, compiled)
    return cast(F, compiled)


class KernelCache(FunctionCache):
    """Numba's cache on disk, but one that a change in any kernel makes stale, and that may fail.

    Numba looks at the file of the kernel alone, which would keep machine code of helpers that a new version changed.
    A damaged file, or a disk without room, means compiling, not failing.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = CheckedFiles(self._cache_path, self._impl.filename_base, sources())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code on disk, if there is any that can be read."""
        try:
            return super().load_overload(sig, target_context)
        except (OSError, EOFError, pickle.UnpicklingError):
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code, if there is room."""
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, pickle.UnpicklingError):
            self.disable()


class CheckedFiles(IndexDataCacheFile):
    """Numba's index and data files, each with a digest before its bytes: damaged ones are not unpickled, but absent.

    An entry holds its key too, since two processes that compile at once may choose one file name for two entries.
    """

    def load(self, key: Any) -> Any:
        """The entry of ``key``, or None."""
        name = self._load_index().get(key)
        entry = None if name is None else self._read(self._data_path(name))
        return entry[1] if entry is not None and entry[0] == key else None

    def save(self, key: Any, data: Any) -> None:
        """Keep an entry under ``key``."""
        super().save(key, (key, data))

    def _load_index(self) -> dict[Any, str]:
        stamp, overloads = self._read(self._index_path) or ("", {})
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._source_stamp, overloads))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> Any:
        try:
            data = Path(path).read_bytes()
        except FileNotFoundError:
            return None
        return pickle.loads(data[32:]) if data[:32] == self._digest(data[32:]) else None

    def _write(self, path: str, content: Any) -> None:
        data = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(self._digest(data) + data)

    def _digest(self, data: bytes) -> bytes:
        """A digest that another version of Numba would not make."""
        return hashlib.sha256(self._version.encode() + data).digest()


@functools.cache
def sources() -> str:
    """A digest of the text of all kernels."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def inline(function: F) -> F:
    """A part of a kernel: compiled into each kernel that calls it, so that passing arrays to it costs nothing."""
    config: Any = numba.config
    return function if config.DISABLE_JIT else cast(F, numba.njit(inline="always", error_model="numpy")(function))
