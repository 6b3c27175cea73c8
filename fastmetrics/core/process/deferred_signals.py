"""Signals that wait for the end of work that they must not break off."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Handle signals that arrive within this block, by handlers written in Python, after it.

    >>> before = signal.signal(signal.SIGINT, signal.default_int_handler)
    >>> done = False
    >>> try:
    ...     with deferred_signals():
    ...         signal.raise_signal(signal.SIGINT)
    ...         done = True
    ... except KeyboardInterrupt:
    ...     print("interrupted", done)
    interrupted True
    >>> handler = signal.signal(signal.SIGINT, before)
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python handles signals in the main thread only
        return
    received: list[int] = []
    try:
        with ExitStack() as handlers:
            for number in _SIGNALS:
                handler = signal.getsignal(number)
                if callable(handler):
                    handlers.callback(signal.signal, number, handler)
                    signal.signal(number, lambda number, frame: received.append(number))
            yield
    finally:
        if received:
            signal.raise_signal(received[0])
