"""Who is told that kernels are about to be compiled; a module without Numba, which takes long to import."""

from __future__ import annotations

from collections.abc import Callable

WATCHERS: list[Callable[[], None]] = []
"""Functions called, from any thread, before a kernel is compiled instead of read from the disk."""


def tell_watchers() -> None:
    """Call the watchers."""
    for watcher in tuple(WATCHERS):
        watcher()
