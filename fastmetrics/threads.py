"""Work spread over threads, its results in the order of the input, with bounded memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from fastmetrics.allowed import Threads, argument

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

    One thread means the caller's own.  An error of ``items`` is raised after the results before it; leaving early
    waits for the work under way, and drops the rest.

    >>> list(ordered(len, ["a", "bc"], threads=2))
    [1, 2]
    """
    if threads == 1:
        yield from map(work, items)
        return
    source = iter(items)
    waiting: deque[Future[R]] = deque()
    failure: Exception | None = None
    pool = ThreadPoolExecutor(threads, thread_name_prefix="fastmetrics")
    try:
        while True:
            try:
                waiting.append(pool.submit(work, next(source)))
            except StopIteration:
                break
            except Exception as error:  # noqa: BLE001 - raised below, after the results before it
                failure = error
                break
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        if failure is not None:
            raise failure
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class Background:
    """One thread that does what it is given in order, at most ``depth`` things behind; depth 0 is the caller's own."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._waiting: deque[Future[None]] = deque()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="fastmetrics-write") if depth else None

    def do(self, work: Callable[[], None]) -> None:
        """Do ``work`` after what was given before; raises what earlier work raised."""
        if self._pool is None:
            work()
            return
        self._waiting.append(self._pool.submit(work))
        if len(self._waiting) > self._depth:
            self._waiting.popleft().result()

    def finish(self) -> None:
        """Wait until all is done; raises what it raised."""
        while self._waiting:
            self._waiting.popleft().result()

    def close(self) -> None:
        """Do what is left, whatever comes of it, and end the thread."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)
