"""Unexpected errors end the program with their own exit code, never with 1, by which ``gate`` reports an unmet rule."""

from __future__ import annotations

import sys
from types import TracebackType

CODE = 8


class UnexpectedErrors:
    """Within this block, print the traceback of an exception that is not ``expected``, and exit with ``CODE``.

    Python itself would exit with 1.  Typer would hide an ``EOFError`` or a broken pipe, and exit with 1 too.
    """

    def __init__(self, *expected: type[BaseException]) -> None:
        self._expected: tuple[type[BaseException], ...] = (SystemExit, KeyboardInterrupt, *expected)

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        """Exit with ``CODE`` after an unexpected exception."""
        if error is None or isinstance(error, self._expected):
            return
        sys.excepthook(type(error), error, place)
        raise SystemExit(CODE) from error
