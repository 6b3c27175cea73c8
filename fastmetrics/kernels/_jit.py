"""The one decorator every kernel wears."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile ``function`` at its first call, without the GIL, keeping the machine code on disk.

    Under ``NUMBA_DISABLE_JIT=1`` the function runs as plain Python, with the wrap-around of unsigned integers that
    hashing relies on made silent.  Where no folder for the cache can be written, it compiles anew in each process.
    """
    config: Any = numba.config
    if config.DISABLE_JIT:

        @functools.wraps(function)
        def interpreted(*args: Any) -> Any:
            with np.errstate(over="ignore"):
                return function(*args)

        return cast(F, interpreted)
    try:
        return cast(F, numba.njit(nogil=True, cache=True, error_model="numpy")(function))
    except RuntimeError:  # Numba's "no locator available": neither the package nor the user's cache is writable
        return cast(F, numba.njit(nogil=True, error_model="numpy")(function))


def inline(function: F) -> F:
    """A part of a kernel: compiled into each kernel that calls it, so that passing arrays to it costs nothing."""
    config: Any = numba.config
    return function if config.DISABLE_JIT else cast(F, numba.njit(inline="always", error_model="numpy")(function))
