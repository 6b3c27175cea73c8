"""What a long function is doing, reported to those who watch, as the program does on a terminal.

A module without Numba, which takes long to import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class WorkDone:
    """Work done so far: its ``stage``, the number of things done with their ``unit``, and their share of all.

    ``share`` is None if the total is unknown, and ``stage`` empty where only the caller can name it.
    """

    stage: str
    done: int
    unit: str
    share: float | None = None


COMPILING = WorkDone("compiling kernels", 1, "so far")
"""Reported before each kernel that is compiled instead of read from the disk."""

WATCHERS: list[Callable[[WorkDone], None]] = []
"""Functions called, from any thread, with the work done so far."""


def report(work: WorkDone) -> None:
    """Call the watchers."""
    for watcher in tuple(WATCHERS):
        watcher(work)


def reported(items: Iterable[T], stage: str, unit: str, total: int) -> Iterator[T]:
    """The items; how many of the total are done is reported after each.

    >>> WATCHERS.append(print)
    >>> list(reported("ab", "spelling", "letters", 2))
    WorkDone(stage='spelling', done=1, unit='letters', share=0.5)
    WorkDone(stage='spelling', done=2, unit='letters', share=1.0)
    ['a', 'b']
    >>> WATCHERS.remove(print)
    """
    for number, item in enumerate(items, 1):
        yield item
        report(WorkDone(stage, number, unit, number / total if total else None))
