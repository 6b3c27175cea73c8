"""An interrupt that ends the program within two seconds, whatever its threads are doing.

Python answers a signal in its main thread, between two of its instructions: compiled code that the main thread is in
holds the answer up until it returns, which for a text of millions of words may take minutes.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

GRACE = 1.5
"""Seconds that the main thread has to answer an interrupt."""

MOMENT = 0.1

CODE = 130


@contextmanager
def heeded(last_words: str) -> Iterator[None]:
    """Within this block, end the process with code 130 if an interrupt is not answered in ``GRACE`` seconds.

    What is on disk by then stays there, as after a kill; ``last_words`` go to standard error.  Only the main thread
    hears signals: elsewhere the block does nothing.  An interrupt that falls into a finalizer, where Python would print
    and forget it, is raised again after it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, wakes = socket.socketpair()
    wakes.setblocking(False)
    answered = threading.Event()
    hook = sys.unraisablehook
    sys.unraisablehook = partial(_raised_again, hook)
    before = signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(heard, answered, last_words), name="fastmetrics-watch", daemon=True).start()
    try:
        yield
    finally:
        answered.set()
        signal.set_wakeup_fd(before)
        sys.unraisablehook = hook
        wakes.close()


def _raised_again(hook: Callable[[Any], object], lost: Any) -> None:
    """Send this process one more interrupt, a moment later, for one that is lost; leave the rest to ``hook``.

    By then the main thread may wait for something, which only a signal from outside ends.
    """
    if isinstance(lost.exc_value, KeyboardInterrupt):
        again = threading.Timer(MOMENT, _interrupt)
        again.daemon = True
        again.start()
    else:
        hook(lost)


def _interrupt() -> None:
    """Interrupt the main thread, whatever it waits for; on Windows, whose threads hear no signals, once it goes on."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def _watch(heard: socket.socket, answered: threading.Event, last_words: str) -> None:
    """Wait for an interrupt, and then for the main thread to answer it."""
    with heard:
        while (signals := heard.recv(16)) and signal.SIGINT not in signals:
            pass
        if not signals or answered.wait(GRACE):
            return
    cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # which a progress bar hides
    with suppress(OSError):  # nobody may be listening any more
        os.write(2, f"{cursor}{last_words}\n".encode())
    os._exit(CODE)
