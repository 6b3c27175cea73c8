"""Work spread over threads, its results in the order of the input, with bounded memory."""

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

from fastmetrics.core.allowed_values import Threads, argument

T = TypeVar("T")
R = TypeVar("R")


def cores(threads: int | None = None) -> int:
    """The number of threads asked for; by default one for every processor this process may use.

    Raises ``OptionError`` for anything but a whole number from 1 to 1,024.
    """
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    found: int = argument("threads", threads, Threads)
    return found


def keep_to_one() -> None:
    """Make this process, one worker of several, leave the other processors alone: no library starts threads here.

    What is loaded already is told so; what is loaded later reads the environment.
    """
    import pyarrow as pa
    import threadpoolctl

    for name in _POOLS:
        os.environ[name] = "1"
    threadpoolctl.threadpool_limits(1)
    pa.set_cpu_count(1)


_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")


def ordered(work: Callable[[T], R], items: Iterable[T], threads: int) -> Generator[R, None, None]:
    """``map(work, items)`` on ``threads`` threads, at most one item more than threads being under way.

    One thread does one item at a time.  An error of ``items`` is raised after the results before it; leaving early
    drops the rest, and the work under way as well unless it ends within a second: no interrupt waits for a long row.

    >>> list(ordered(len, ["a", "bc"], threads=2))
    [1, 2]
    """
    if threads == 1 and threading.current_thread() is not threading.main_thread():
        yield from map(work, items)  # no interrupt comes here, so nobody need listen for it
        return
    behind = threads if threads > 1 else 0
    source = iter(items)
    waiting: deque[Future[R]] = deque()
    failure: Exception | None = None
    crew = Crew(threads, "fastmetrics")
    try:
        while True:
            try:
                waiting.append(crew.submit(work, next(source)))
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
        crew.leave(_PATIENCE)


_PATIENCE = 1.0
"""Seconds that work under way is waited for when its result is no longer wanted."""


class Crew:
    """Threads that take work in the order it comes, and that neither an interrupt nor the end of Python waits for.

    ``concurrent.futures`` has Python join its threads at exit: after an interrupt it would sit through the row that
    was interrupted.
    """

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._threads: list[threading.Thread] = []
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._dropped = False

    def submit(self, work: Callable[..., R], *arguments: Any) -> Future[R]:
        """What ``work`` will make of the arguments."""
        future: Future[R] = Future()
        self._queue.put((future, partial(work, *arguments)))
        if len(self._threads) < self._size:
            name = f"{self._name}_{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._do, name=name, daemon=True))
            self._threads[-1].start()
        return future

    def _do(self) -> None:
        while (given := self._queue.get()) is not None and not self._dropped:
            future, work = given
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
                future.set_exception(error)
            del given, future, work  # the result is not held while there is nothing to do

    def leave(self, patience: float) -> None:
        """Drop the work that has not begun, and wait for the rest no longer than so many seconds."""
        self._dropped = True
        self.dismiss(patience)

    def dismiss(self, patience: float | None = None) -> None:
        """Wait until all work is done and the threads have ended, as long as it takes or so many seconds."""
        for _ in self._threads:
            self._queue.put(None)
        end = None if patience is None else time.monotonic() + patience
        for thread in self._threads:
            thread.join(None if end is None else max(end - time.monotonic(), 0.0))


class Background:
    """One thread that does what it is given in order, at most ``depth`` things behind; depth 0 is the caller's own."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._waiting: deque[Future[None]] = deque()
        self._crew = Crew(1, "fastmetrics-write") if depth else None

    def do(self, work: Callable[[], None]) -> None:
        """Do ``work`` after what was given before; raises what earlier work raised."""
        if self._crew is None:
            work()
            return
        self._waiting.append(self._crew.submit(work))
        if len(self._waiting) > self._depth:
            self._waiting.popleft().result()

    def finish(self) -> None:
        """Wait until all is done; raises what it raised."""
        while self._waiting:
            self._waiting.popleft().result()

    def close(self) -> None:
        """Do what is left, whatever comes of it, and end the thread."""
        if self._crew is not None:
            self._crew.dismiss()
