"""How the program ends: by a signal, or by an error that nobody expects; it never takes the exit code of a gate.

Nothing here imports another package, so that a broken installation ends like this too.

**Interrupts** (Ctrl-C, SIGTERM, SIGHUP) have one handler, which raises an exception: files are closed and temporary
folders deleted on its way out, and the program prints one line and ends with code 130, 143 or 129. A second signal ends
the process at once. Rows are scored on background threads while the caller's thread waits for signals, so a long row
delays neither the exception nor the exit of Python; finished parts stay for ``--resume``.
"""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

CODE = 8
"""The exit code after an unexpected error; Python itself would exit with 1, by which ``gate`` reports a broken rule."""
_WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "terminal closed"}
"""The signals that end the program, and what it says."""


class Stopped(SystemExit):
    """A signal asks the program to end.

    It leaves every block as another exception does, so that files are closed and temporary folders deleted.  Its exit
    code is that of a shell: 128 + the number of the signal.
    """

    code: int

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.word = _WORDS[signal.Signals(number).name]


def listen() -> None:
    """Raise ``Stopped`` at the first signal that asks to end; a second one ends the process at once.

    Signals that are ignored, as SIGHUP under the program nohup, stay so.
    """
    numbers = [getattr(signal, name) for name in _WORDS if hasattr(signal, name)]
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    if _loses_exceptions(frame):
        threading.Timer(0.01, _signal_again, [number]).start()
        return
    for name in _WORDS:
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is _stop:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    raise Stopped(number)


def _signal_again(number: int) -> None:
    """Send the signal to the thread that hears signals, so that it also ends a wait of that thread."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, number)
    else:
        signal.raise_signal(number)


def _loses_exceptions(frame: FrameType | None) -> bool:
    """Whether Python would drop an exception that is raised here: in a finalizer, or where LLVM calls back.

    LLVM would then go on with the memory that its caller was to fill.
    """
    while frame is not None:
        if frame.f_code.co_name == "__del__" or frame.f_globals.get("__name__", "").startswith("llvmlite."):
            return True
        frame = frame.f_back
    return False


@contextmanager
def unexpected_errors(*expected: type[BaseException]) -> Iterator[None]:
    """Within this block, print the traceback of an exception that is not ``expected``, and exit with ``CODE``.

    Typer would hide an ``EOFError`` or a broken pipe, and exit with 1.  Too little memory is reported in one line.
    """
    passed_on: tuple[type[BaseException], ...] = (Stopped, *expected)
    try:
        yield
    except passed_on:
        raise
    except BaseException as error:
        with suppress(OSError, ValueError):  # standard error may be full or closed
            if _lacks_memory(error):
                print("error: not enough memory; use fewer --threads, or a machine with more memory", file=sys.stderr)
            else:
                traceback.print_exception(error)
        raise SystemExit(CODE) from error


def _lacks_memory(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, MemoryError):
        error = error.__cause__ or error.__context__
    return error is not None
