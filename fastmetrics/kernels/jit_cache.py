"""Disk cache of the kernels' machine code, based on private classes of Numba; ``jit`` lists the tested versions."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from llvmlite import binding as llvm
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import nrt

from fastmetrics.core.process.deferred_signals import deferred_signals
from fastmetrics.core.process.work_watch import COMPILING, report
from fastmetrics.kernels.jit_compiler import COMPILES_PART, stored_part
from fastmetrics.kernels.jit_turns import Turn


class KernelCache(FunctionCache):
    """Numba's disk cache, invalidated by a change in any kernel, with disk errors ignored.

    Numba checks only the kernel's own file, so it would keep stale machine code of changed helpers; ``stamp`` is the
    digest of all kernels' source.  If a file is damaged or the disk is full, the kernel is compiled again.
    """

    def __init__(self, function: Callable[..., Any], stamp: str) -> None:
        self._cache_path = ""
        self._turn: Turn | None = None
        self._open = cache(partial(self._opened, function, stamp))  # when called: most kernels of a process are not

    def _opened(self, function: Callable[..., Any], stamp: str) -> bool:
        """Whether there is a folder for the cache of ``function``."""
        try:
            super().__init__(function)
        except RuntimeError:  # "no locator available": Numba finds no writable folder
            self.disable()
            return False
        self._cache_file = CheckedFiles(self._cache_path, self._impl.filename_base, stamp)
        return True

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the machine code from disk, if a readable entry exists.

        Of several processes that need a missing one, the first compiles it, and the others load what it stored.  Their
        turns are for all types of arguments, which share an index file.
        """
        loaded = self._load(sig, target_context)
        if loaded is None:
            self._turn = Turn(self._cache_path, self._impl.filename_base) if self._open() else None
            report(COMPILING)
            if self._turn is not None and self._turn.take():
                loaded = self._load(sig, target_context)
        return loaded

    def _load(self, sig: Any, target_context: Any) -> Any:
        """An entry on disk, or None.

        An exception of a signal handler within LLVM's loading, or in a finalizer of its objects, would leave half of
        them freed, and the process ended in a crash.
        """
        try:
            with deferred_signals(), self._guard_against_spurious_io_errors():
                codegen = target_context.codegen()
                entry = self._cache_file.load(self._index_key(sig, codegen)) if self._open() else None
                return None if entry is None else _rebuilt(target_context, *entry)
        except (OSError, EOFError, pickle.UnpicklingError):
            return None

    def end_turn(self) -> None:
        """Let another process compile or load the kernel, after it was compiled or could not be."""
        if self._turn is not None:
            self._turn.give_back()
            self._turn = None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the machine code, if the disk has room."""
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, pickle.UnpicklingError):
            self.disable()


def _rebuilt(context: Any, library: Any, described: Any, *fields: Any) -> Any:
    """A compiled kernel of what ``CompileResult._reduce`` stores; None for a part of kernels that Python calls.

    Numba would also compile its runtime and parse the bitcode for kernels that are compiled later and call this one,
    half of the time that loading takes.  Its compiler does the first itself; the second happens when it is needed.
    """
    _register_runtime()
    name, kind, (machine_code, bitcode) = library
    if not machine_code:
        environment, signature = fields[:2]
        return stored_part(context, name, bitcode, described, environment, signature) if COMPILES_PART.get() else None
    codegen = context.codegen()
    codegen._engine._defined_symbols |= {described.llvm_func_name, described.llvm_cpython_wrapper_name}
    loaded: Any = CompileResult._rebuild(context, (name, kind, (machine_code, _no_bitcode())), described, *fields)
    loaded.library._get_module_for_linking = cache(partial(llvm.parse_bitcode, bitcode))
    return loaded


@cache
def _register_runtime() -> None:
    """Tell LLVM where the functions of Numba's runtime are that kernels call."""
    for name, address in cast(Any, nrt)._nrt.c_helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


@cache
def _no_bitcode() -> bytes:
    bitcode: bytes = llvm.parse_assembly("").as_bitcode()
    return bitcode


def _environment(module: str, constants: Any, name: str) -> Any:
    """The environment ``name`` of a function; kernels read no globals, so that ``module`` is not imported for them."""
    environment = lookup_environment(name)
    if environment is None:
        environment = Environment({"__name__": module})
        environment.consts[:] = constants
        environment.env_name = name
        Environment._memo[name] = environment
    return environment


class _Unpickler(pickle.Unpickler):
    """Reads entries of the cache."""

    def find_class(self, module: str, name: str) -> Any:
        """The object ``name`` of ``module``."""
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return _environment
        return super().find_class(module, name)


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
            return _Unpickler(io.BytesIO(data[32:])).load()
        except (AttributeError, ImportError):  # an earlier version wrote it, with names that this one does not have
            return None

    def _write(self, path: str, content: Any) -> None:
        data = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(self._digest(data) + data)

    def _digest(self, data: bytes) -> bytes:
        """A digest of the content and the version of Numba."""
        return hashlib.sha256(self._version.encode() + data).digest()
