"""End the program within two seconds of an interrupt or a request to terminate, whatever its threads are doing.

Python handles signals in its main thread, between two bytecode instructions.  Compiled code in the main thread delays
the handler until it returns, which may take minutes for a text of millions of words.
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

from fastmetrics.commands.program.terminal import ERASE

GRACE = 1.5
"""Seconds that the main thread has to answer an interrupt."""

MOMENT = 0.1

CODE = 130

_ENDING = {
    getattr(signal, name): (128 + getattr(signal, name), word)
    for name, word in (("SIGTERM", "terminated"), ("SIGHUP", "terminal closed"))
    if hasattr(signal, name)
}
"""The exit code and the word for each signal that ends the program as an interrupt does."""


class Terminated(KeyboardInterrupt):
    """A signal asks the program to end; handled like an interrupt, so that everything is cleaned up."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def exit_code(error: BaseException) -> int:
    """The exit code after an interrupt, or after another signal."""
    return _ENDING[error.number][0] if isinstance(error, Terminated) else CODE


def interruption(interrupt_message: str, error: BaseException) -> str:
    """The message after an interrupt, or after another signal."""
    return _interruption(interrupt_message, error.number) if isinstance(error, Terminated) else interrupt_message


def _interruption(interrupt_message: str, number: int) -> str:
    return interrupt_message.replace("interrupted", _ENDING[number][1], 1) if number in _ENDING else interrupt_message


def _terminate(number: int, frame: Any) -> None:
    raise Terminated(number)


@contextmanager
def interruptible(interrupt_message: str) -> Iterator[None]:
    """Within this block, end the process with code 130 if an interrupt is not handled in ``GRACE`` seconds.

    Files on disk stay, as after a kill; ``interrupt_message`` is printed to standard error.  Only the main thread
    handles signals: in other threads the block does nothing.  An interrupt inside a finalizer, which Python would print
    and ignore, is raised again after the finalizer.  A block that ends after an interrupt ends with
    ``KeyboardInterrupt``, even if a library caught it, or raised another exception for it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, wakes = socket.socketpair()
    wakes.setblocking(False)
    interrupted, answered = threading.Event(), threading.Event()
    received: list[int] = []
    handled = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    hook = sys.unraisablehook
    sys.unraisablehook = partial(_raised_again, hook, answered)
    before = signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    watch = threading.Thread(
        target=_watch,
        args=(heard, received, interrupted, answered, interrupt_message),
        name="fastmetrics-watch",
        daemon=True,
    )
    watch.start()
    try:
        for number in handled:
            signal.signal(number, _terminate)
        yield
    finally:
        answered.set()
        signal.set_wakeup_fd(before)
        sys.unraisablehook = hook
        wakes.close()
        watch.join()
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
        # an interrupt between the block and this generator leaves the generator to the garbage collector
        if interrupted.is_set() and not isinstance(sys.exception(), GeneratorExit):
            raise Terminated(received[0]) if received[0] in _ENDING else KeyboardInterrupt


def _raised_again(hook: Callable[[Any], object], answered: threading.Event, lost: Any) -> None:
    """Send this process another interrupt, a moment later, for a lost one; pass other exceptions to ``hook``.

    The main thread may be blocked by then, and only a signal from outside wakes it.
    """
    if isinstance(lost.exc_value, KeyboardInterrupt):
        number = lost.exc_value.number if isinstance(lost.exc_value, Terminated) else signal.SIGINT
        again = threading.Thread(target=_interrupt_unless, args=(answered, number), daemon=True)
        again.start()
    else:
        hook(lost)


def _interrupt_unless(answered: threading.Event, number: int) -> None:
    """Interrupt the main thread after a moment, unless it has left the block by then."""
    if not answered.wait(MOMENT):
        _interrupt(number)


def _interrupt(number: int) -> None:
    """Interrupt the main thread even if it is blocked; on Windows, which cannot signal a thread, when it continues."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


def _watch(
    heard: socket.socket,
    received: list[int],
    interrupted: threading.Event,
    answered: threading.Event,
    interrupt_message: str,
) -> None:
    """Wait for an interrupt, then for the main thread to handle it."""
    with heard:
        while (signals := heard.recv(16)) and not any(number in (signal.SIGINT, *_ENDING) for number in signals):
            pass
        if not signals:
            return
        received.extend(number for number in signals if number in (signal.SIGINT, *_ENDING))
        interrupted.set()
        if answered.wait(GRACE):
            return
    erased = ERASE if sys.stderr.isatty() else ""  # a line of progress
    with suppress(OSError):  # standard error may be closed
        os.write(2, f"{erased}{_interruption(interrupt_message, received[0])}\n".encode())
    os._exit(_ENDING[received[0]][0] if received[0] in _ENDING else CODE)
