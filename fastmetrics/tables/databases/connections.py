"""Several connections to one database, each of which one thread uses at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from fastmetrics.tables.databases.sessions import Session


class Connections:
    """Up to ``most`` sessions that ``connect`` makes; ``count`` is how many the server allows.

    Raises what ``connect`` raises for the first of them.
    """

    def __init__(self, connect: Callable[[], Session], most: int) -> None:
        self._free: SimpleQueue[Session] = SimpleQueue()
        self._closed = False
        self.count = 0
        try:
            for _ in range(most):
                self._free.put(connect())
                self.count += 1
        except ConnectionError:  # the server or the role has a limit
            if not self.count:
                raise
        except BaseException:
            self.close()
            raise

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A session that no other thread uses meanwhile."""
        session = self._free.get()
        try:
            yield session
        finally:
            self._free.put(session)
            if self._closed:
                self.close()

    def close(self) -> None:
        """Close all sessions; one in use, which must not be closed by another thread, when its thread is done."""
        self._closed = True
        while True:
            try:
                session = self._free.get_nowait()
            except Empty:
                return
            session.close()
