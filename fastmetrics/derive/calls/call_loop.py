"""The event loop of a sender, on its own thread, and the queue of its workers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TypeAlias

from fastmetrics.derive.calls.call import Call

Task: TypeAlias = tuple[Call, int, bool]
"""A call to send, with the number of earlier requests, and whether its reply replaces a stored one."""

Queue: TypeAlias = "asyncio.Queue[Task]"


class CallLoop:
    """An event loop on its own thread, and the queue of its workers."""

    def __init__(self, work: Callable[[Queue], Coroutine[None, None, None]]) -> None:
        self._loop = asyncio.new_event_loop()
        self._queue: Queue = asyncio.Queue()
        self._task = self._loop.create_task(work(self._queue))
        self._thread = threading.Thread(target=self._run, name="fastmetrics-calls", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(asyncio.wait([self._task]))
        finally:
            self._loop.close()

    def put(self, item: Task) -> None:
        """Give the workers a task, from any thread."""
        self._loop.call_soon_threadsafe(self._queue.put_nowait, item)

    def stop(self) -> None:
        """Cancel the work."""
        with suppress(RuntimeError):  # the loop may have ended already
            self._loop.call_soon_threadsafe(self._task.cancel)

    def close(self, patience: float) -> None:
        """Wait until the work has ended, at most this many seconds."""
        self._thread.join(patience)
