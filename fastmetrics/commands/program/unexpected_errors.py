"""Unexpected errors end the program with their own exit code, never with 1, by which ``gate`` reports an unmet rule."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType

CODE = 8
LEAST_MEMORY = 1280 << 20
"""The limit of memory below which libraries do not load, or end the process: OpenBLAS, Arrow and LLVM say anything."""
_LITTLE_MEMORY = 4 << 30
"""The limit of memory below which OpenBLAS gets one thread, since it reserves memory for each."""


class UnexpectedErrors:
    """Within this block, print the traceback of an exception that is not ``expected``, and exit with ``CODE``.

    Python itself would exit with 1.  Typer would hide an ``EOFError`` or a broken pipe, and exit with 1 too.
    Too little memory is reported in one line.
    """

    def __init__(self, *expected: type[BaseException]) -> None:
        self._expected: tuple[type[BaseException], ...] = (KeyboardInterrupt, *expected)

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        """Exit with ``CODE`` after an unexpected exception."""
        if error is None or isinstance(error, self._expected):
            return
        lacking = memory_message(error)
        if lacking is None:
            sys.excepthook(type(error), error, place)
        else:
            with suppress(OSError, ValueError):  # standard error may be closed
                print(f"error: {lacking}", file=sys.stderr)
        raise SystemExit(CODE) from error


def check_memory() -> None:
    """Raise ``MemoryError`` under a limit in which libraries hang; call it before any is loaded."""
    limit = _memory_limit()
    if limit is not None and limit < LEAST_MEMORY:
        raise MemoryError
    if limit is not None and limit < _LITTLE_MEMORY:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def memory_message(error: BaseException) -> str | None:
    """What to do about too little memory, if that is the cause of an error; None otherwise.

    >>> memory_message(MemoryError())
    'not enough memory; use fewer --threads, or a machine with more memory'
    >>> memory_message(ValueError("a fault")) is None
    True
    """
    limit = _memory_limit()
    lacks = any(isinstance(cause, MemoryError) for cause in _causes(error))
    # under a limit, libraries cannot be loaded, and say anything
    if not lacks and not (limit is not None and isinstance(error, ImportError | OSError | SystemError)):
        return None
    if limit is None:
        return "not enough memory; use fewer --threads, or a machine with more memory"
    return f"not enough memory: the limit (ulimit -v) is {limit >> 10:,} KB; raise it, or use fewer --threads"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _memory_limit() -> int | None:
    """The limit of this process's memory in bytes, if there is one."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit
