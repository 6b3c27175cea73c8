"""Decorators that compile kernels."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

TRIED = (0, 61), (0, 69)
"""Range of Numba versions with known private classes: first version (inclusive), second version (exclusive)."""


def kernel(function: F) -> F:
    """Compile ``function`` at its first call, release the GIL, and cache the machine code on disk.

    Under ``NUMBA_DISABLE_JIT=1`` the function runs as plain Python, without warnings for the unsigned integer overflow
    that hashing relies on.  If no cache folder is writable, each process compiles the function again.
    """
    return _compiled(function)


def leaf(function: F) -> F:
    """A kernel that allocates no arrays: it skips reference counting of its arguments, which makes calls cheap."""
    return _compiled(function, _nrt=False)


def inline(function: F) -> F:
    """A leaf that LLVM inlines into each kernel that calls it, so that passing arrays costs nothing."""
    return function if _interpreted() else _compiled(function, _nrt=False, forceinline=True)


def instruction(code: Callable[..., Any]) -> Callable[[F], F]:
    """A function for kernels that compiles to the LLVM instructions that ``code`` writes.

    ``code`` is what ``numba.extending.intrinsic`` takes.  The decorated function says the same in Python, for
    ``NUMBA_DISABLE_JIT=1``.
    """

    def choose(meaning: F) -> F:
        return meaning if _interpreted() else cast(F, intrinsic(code))

    return choose


def _compiled(function: F, **private: Any) -> F:
    if _interpreted():

        @functools.wraps(function)
        def interpreted(*args: Any) -> Any:
            with np.errstate(over="ignore"):
                return function(*args)

        return cast(F, interpreted)
    private_classes = _private_classes()
    if private_classes is None:
        return _publicly(function)
    dispatcher, cache = private_classes
    compiled = dispatcher(function, nogil=True, error_model="numpy", **private)
    compiled._cache = cache(function, sources())
    return cast(F, compiled)


def _publicly(function: F) -> F:
    """A kernel compiled with public options only; its name in the cache contains the digest of all kernels' source."""
    function.__qualname__ += f".{sources()[:16]}"
    try:
        return _jit(function, cache=True)
    except RuntimeError:  # "no locator available"
        return _jit(function)


def _interpreted() -> bool:
    config: Any = numba.config
    return bool(config.DISABLE_JIT)


def _jit(function: F, **options: Any) -> F:
    return cast(F, numba.njit(error_model="numpy", nogil=True, **options)(function))


@functools.cache
def _private_classes() -> tuple[Callable[..., Any], Callable[[Callable[..., Any], str], Any]] | None:
    """The extended classes of dispatchers and caches, or None for an untested version of Numba."""
    if not tried(numba.__version__):
        return None
    try:
        from fastmetrics.kernels.jit_cache import KernelCache
        from fastmetrics.kernels.jit_compiler import KernelDispatcher
    except ImportError:
        return None
    return KernelDispatcher, KernelCache


def tried(version: str) -> bool:
    """Whether a version of Numba is one whose private classes are known.

    >>> tried("0.68.1"), tried("0.99.0")
    (True, False)
    """
    match = re.match(r"(\d+)\.(\d+)\.", version)
    return match is not None and TRIED[0] <= (int(match[1]), int(match[2])) < TRIED[1]


@functools.cache
def sources() -> str:
    """A digest of the source text of all kernels."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
