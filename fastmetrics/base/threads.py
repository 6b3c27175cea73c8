"""Thread pools with results in the order of the input and bounded memory, and reports of what a long function is
doing.

**Threads, not processes**, on one machine. Kernels release the interpreter lock, so a pool of threads shares one copy
of all data.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from fastmetrics.base.options import Threads, argument

T = TypeVar("T")
R = TypeVar("R")


def cores(threads: int | None = None) -> int:
    """The requested number of threads; by default one for each core available to this process.

    Raises ``OptionError`` for anything but an integer from 1 to 1,024.
    """
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count: int = argument("threads", threads, Threads)
    return count


def ordered(work: Callable[[T], R], items: Iterable[T], threads: int) -> Generator[R, None, None]:
    """``map(work, items)`` on ``threads`` threads, with at most ``threads + 1`` items in progress.

    One thread processes one item at a time.  An error of ``items`` is raised after the results before it.  Leaving
    early drops the remaining items, and also the work in progress unless it ends within a second, so an interrupt does
    not wait for a long row.

    >>> list(ordered(len, ["a", "bc"], threads=2))
    [1, 2]
    """
    if threads == 1 and threading.current_thread() is not threading.main_thread():
        yield from map(work, items)  # only the main thread receives interrupts
        return
    behind = threads if threads > 1 else 0
    source = iter(items)
    waiting: deque[Future[R]] = deque()
    failure: Exception | None = None
    workers = Workers(threads, "fastmetrics")
    try:
        while True:
            try:
                waiting.append(workers.submit(work, next(source)))
            except StopIteration:
                break
            except Exception as error:  # noqa: BLE001 - raised below, after the results before it
                failure = error
                break
            if len(waiting) > behind:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        if failure is not None:
            raise failure
    finally:
        workers.leave(_PATIENCE)


_PATIENCE = 1.0
"""Seconds to wait for work in progress whose result is no longer needed."""


class Workers:
    """Threads that process work in order of submission; neither an interrupt nor the exit of Python waits for them.

    ``concurrent.futures`` joins its threads at exit: after an interrupt, Python would wait for the interrupted row.
    """

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._threads: list[threading.Thread] = []
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._dropped = False

    def submit(self, work: Callable[..., R], *arguments: Any) -> Future[R]:
        """A future of ``work`` called with the arguments."""
        future: Future[R] = Future()
        self._queue.put((future, partial(work, *arguments)))
        if len(self._threads) < self._size:
            name = f"{self._name}_{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._do, name=name, daemon=True))
            self._threads[-1].start()
        return future

    def _do(self) -> None:
        while (task := self._queue.get()) is not None and not self._dropped:
            future, work = task
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
                future.set_exception(error)
            del task, future, work  # do not keep the result alive while idle

    def leave(self, patience: float) -> None:
        """Drop work that has not started, and wait at most this many seconds for the rest."""
        self._dropped = True
        self.dismiss(patience)

    def dismiss(self, patience: float | None = None) -> None:
        """Wait until all work is done and the threads have ended, optionally at most this many seconds."""
        for _ in self._threads:
            self._queue.put(None)
        end = None if patience is None else time.monotonic() + patience
        for thread in self._threads:
            if _is_started(thread):
                thread.join(None if end is None else max(end - time.monotonic(), 0.0))


def _is_started(thread: threading.Thread) -> bool:
    """Whether the thread can be joined: an interrupt may have left ``Thread.start`` while the thread was starting."""
    end = time.monotonic() + _PATIENCE
    while thread.ident is None and time.monotonic() < end:
        time.sleep(0.001)
    return thread.is_alive()


class Background:
    """One thread that processes work in order, with at most ``depth`` items queued; 0 runs in the caller's thread."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._waiting: deque[Future[None]] = deque()
        self._workers = Workers(1, "fastmetrics-write") if depth else None

    def do(self, work: Callable[[], None]) -> None:
        """Queue ``work``; raises errors of earlier work."""
        if self._workers is None:
            work()
            return
        self._waiting.append(self._workers.submit(work))
        if len(self._waiting) > self._depth:
            self._waiting.popleft().result()

    def finish(self) -> None:
        """Wait until all work is done; raises its errors."""
        while self._waiting:
            self._waiting.popleft().result()

    def close(self) -> None:
        """Process the remaining work, ignoring errors, and end the thread."""
        if self._workers is not None:
            self._workers.dismiss()
