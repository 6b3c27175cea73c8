"""Retries after temporary faults, such as network errors: of a call, or of reading from the last position."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.limits import RETRY_LIMITS
from fastmetrics.tables.remote.stores import passing
from fastmetrics.tables.table_chunks import Chunk

T = TypeVar("T")


class Tries:
    """The attempts of one operation: the number of failures since its last progress."""

    def __init__(self) -> None:
        self._failures = 0

    def went_on(self) -> None:
        """Reset the number of failures after progress."""
        self._failures = 0

    def over(self, error: BaseException | None) -> bool:
        """Whether a failure is final: after too many attempts, or if the fault is permanent."""
        self._failures += 1
        return self._failures == RETRY_LIMITS.read_tries or not passing(error)

    def wait(self) -> None:
        """Wait before the next attempt."""
        time.sleep(RETRY_LIMITS.pause_seconds * 2 ** (self._failures - 1))


def patiently(do: Callable[[], T]) -> T:
    """The result of ``do``, retried a few times if a connection breaks."""
    tries = Tries()
    while True:
        try:
            return do()
        except OSError as error:
            if tries.over(error):
                raise
        tries.wait()


def patient(chunks_from: Callable[[int], Iterator[Chunk]], start: int) -> Iterator[Chunk]:
    """The chunks of ``chunks_from`` from row ``start`` on; after a system error, reading restarts after the last chunk.

    Raises ``FileFormatError`` at once if the fault is permanent, else after three failures without a row in between.
    """
    tries = Tries()
    while True:
        try:
            for chunk in chunks_from(start):
                yield chunk
                start = max(start, chunk.stop)
                tries.went_on()
            return
        except FileFormatError as error:
            if tries.over(error.__cause__):
                raise
        tries.wait()
