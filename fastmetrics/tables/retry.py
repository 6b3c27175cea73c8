"""What is tried again after a fault that may pass, such as a network's: a call, or reading from where it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from fastmetrics.core.patience import PATIENCE
from fastmetrics.errors import FileFormatError
from fastmetrics.tables.chunks import Chunk
from fastmetrics.tables.remote.stores import passing

T = TypeVar("T")


class Tries:
    """The tries of one thing: how many failed since it last went on."""

    def __init__(self) -> None:
        self._failures = 0

    def went_on(self) -> None:
        """Forget the failures before."""
        self._failures = 0

    def over(self, error: BaseException | None) -> bool:
        """Whether a failure is final: the last of several, or one that will not pass."""
        self._failures += 1
        return self._failures == PATIENCE.read_tries or not passing(error)

    def wait(self) -> None:
        """Let time pass before the next try."""
        time.sleep(PATIENCE.pause_seconds * 2 ** (self._failures - 1))


def patiently(do: Callable[[], T]) -> T:
    """What ``do`` returns, tried again a few times if a connection breaks."""
    tries = Tries()
    while True:
        try:
            return do()
        except OSError as error:
            if tries.over(error):
                raise
        tries.wait()


def patient(read: Callable[[int], Iterator[Chunk]], start: int) -> Iterator[Chunk]:
    """The chunks that ``read`` gives from row ``start`` on, read again from behind the last if the system fails.

    Raises ``FileFormatError`` at once if the fault will not pass, else after three failures without a row between.
    """
    tries = Tries()
    while True:
        try:
            for chunk in read(start):
                yield chunk
                start = max(start, chunk.stop)
                tries.went_on()
            return
        except FileFormatError as error:
            if tries.over(error.__cause__):
                raise
        tries.wait()
