"""The line on a terminal that shows what a long command is doing; it vanishes before anything is printed."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from fastmetrics.base.threads import COMPILING, WATCHERS, WorkDone
from fastmetrics.commands.program.terminal import BEFORE_PRINTING, ERASE

AFTER = 1.0
"""Seconds until the line is drawn first; a short run needs none."""
EVERY = 0.2
_BAR = 24
_LEAST_WIDTH = 20


@contextmanager
def progress_line(command: str, quiet: bool) -> Iterator[None]:
    """Within this block, show the progress of a command that takes long; not if it is ``quiet``."""
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM", "") in ("", "dumb"):
        yield
        return
    line = _Line(command, sys.stderr.fileno())
    WATCHERS.append(line.watch)
    BEFORE_PRINTING.append(line.before_printing)
    _SHOWN.append(line)
    drawing = threading.Thread(target=line.draw_until_closed, daemon=True)
    drawing.start()
    try:
        yield
    finally:
        line.close()
        WATCHERS.remove(line.watch)
        BEFORE_PRINTING.remove(line.before_printing)
        _SHOWN.remove(line)


def add_to_line(text: Callable[[], str]) -> bool:
    """Append the text, read at each drawing, to the line that is shown; whether there is one."""
    for line in _SHOWN:
        line.addition = text
    return bool(_SHOWN)


class _Line:
    """The line of a command on the terminal of a descriptor."""

    def __init__(self, command: str, terminal: int) -> None:
        self._command = command
        self._terminal = terminal
        self._start = self._stage_start = time.monotonic()
        self._work = WorkDone("", 0, "")
        self._compiled = 0
        self._drawn = False
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self.addition: Callable[[], str] = str

    def watch(self, work: WorkDone) -> None:
        """Take note of work; kernels are counted here."""
        if work.stage != self._work.stage or work.done < self._work.done:
            self._stage_start = time.monotonic()
        if work is COMPILING:
            self._compiled += 1
            work = WorkDone(work.stage, self._compiled, work.unit)
        self._work = work

    def before_printing(self, descriptor: int) -> None:
        """Erase the line; what is printed on standard output is the result, after which no line is drawn."""
        if descriptor == 1:
            self._closed.set()
        self._write("")

    def draw_until_closed(self) -> None:
        """Draw the line again and again."""
        wait = AFTER
        while not self._closed.wait(wait):
            self._write(self.text(self._width()))
            wait = EVERY

    def close(self) -> None:
        """Erase the line, and draw no other."""
        self._closed.set()
        self._write("")

    def _write(self, text: str) -> None:
        with self._lock, suppress(OSError):  # the terminal may be closed
            if text and not self._closed.is_set():
                os.write(self._terminal, (ERASE + text).encode(errors="replace"))
                self._drawn = True
            elif self._drawn:
                os.write(self._terminal, ERASE.encode())
                self._drawn = False

    def _width(self) -> int:
        try:
            columns = os.get_terminal_size(self._terminal).columns
        except OSError:
            columns = 0
        return max(columns, _LEAST_WIDTH) if columns else 80  # some terminals do not know their width

    def text(self, width: int) -> str:
        """The line: stage, bar, share, number, rate, the time left or elapsed; at most ``width`` − 1 characters."""
        work, now = self._work, time.monotonic()
        if work.share is not None and work.share >= 1:  # the stage is finished, the command is not
            work = WorkDone("", 0, "")
        pieces = [work.stage or self._command]
        if work.share is not None:
            full = round(_BAR * min(work.share, 1.0))
            pieces += ["━" * full + "─" * (_BAR - full) + f" {work.share:4.0%}"]
        if work.done:
            pieces += [f"{work.done:,} {work.unit}"]
        elapsed = now - self._stage_start
        if work.share and elapsed > 0:
            pieces += [f"{_clock(elapsed * (1 - work.share) / work.share)} left"]
        else:
            pieces += [_clock(now - self._start)]
        return "  ".join(filter(None, [*pieces, self.addition()]))[: width - 1]


def _clock(seconds: float) -> str:
    """Minutes and seconds.

    >>> _clock(0.4), _clock(75)
    ('0:00', '1:15')
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


_SHOWN: list[_Line] = []
