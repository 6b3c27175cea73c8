"""What a long function is doing, reported by it, and shown to those who wait.

Numba and rich, which take long to import, are not needed to report.

**Progress** is reported by long functions, and shown by one display: a bar of rich on a terminal, a line every 10
seconds elsewhere.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")


@dataclass(frozen=True)
class WorkDone:
    """Work done so far: its ``stage``, the number of things done with their ``unit``, of how many.

    Where the ``total`` is unknown, ``read`` may be the share of the input that was read.  ``stage`` is empty where only
    the caller can name it.
    """

    stage: str
    done: int
    unit: str
    total: int | None = None
    read: float | None = None

    @property
    def share(self) -> float | None:
        """The share done; None if the total is unknown."""
        return self.done / self.total if self.total else self.read


@dataclass(frozen=True)
class Progress:
    """The progress of a run: finished and total rows (None if unknown), finished and total bytes of files."""

    rows: int
    total_rows: int | None
    nbytes: int
    total_bytes: int

    @property
    def share(self) -> float | None:
        """The share done: of rows if the files record their number, otherwise of bytes; None if neither is known."""
        done, total = (self.nbytes, self.total_bytes) if self.total_rows is None else (self.rows, self.total_rows)
        return done / total if total else None


COMPILING = WorkDone("compiling kernels", 1, "so far")
"""Reported before each kernel that is compiled instead of read from the disk."""

WATCHERS: list[Callable[[WorkDone], None]] = []
"""Functions called, from any thread, with the work done so far."""


def report(work: WorkDone) -> None:
    """Call the watchers."""
    for watcher in tuple(WATCHERS):
        watcher(work)


def reported(items: Iterable[T], stage: str, unit: str, total: int) -> Iterator[T]:
    """The items; how many of the total are done is reported after each.

    >>> WATCHERS.append(lambda work: print(work.stage, work.done, work.share))
    >>> list(reported("ab", "spelling", "letters", 2))
    spelling 1 0.5
    spelling 2 1.0
    ['a', 'b']
    >>> removed = WATCHERS.pop()
    """
    for number, item in enumerate(items, 1):
        yield item
        report(WorkDone(stage, number, unit, total))


AFTER = 2.0
"""Seconds until a bar is drawn first: a short run, half of which is its start, needs none, nor the import of rich."""
REDRAWN_EVERY = 0.2
PRINTED_EVERY = 10.0
"""Seconds between two lines where standard error is no terminal."""


@contextmanager
def shown_progress(name: str) -> Iterator[None]:
    """Within this block, show what is reported on standard error: a bar on a terminal, else a line now and then.

    ``name`` is shown for a stage without a name.  The bar vanishes at the end.
    """
    display = _Display(name)
    WATCHERS.append(display.watch)
    _DISPLAYS.append(display)
    try:
        yield
    finally:
        WATCHERS.remove(display.watch)
        _DISPLAYS.remove(display)
        display.close()


def hide_progress() -> None:
    """Remove the bar, if there is one, for the result that is printed now."""
    for display in _DISPLAYS:
        display.close()


def add_to_progress(text: Callable[[], str]) -> None:
    """Show the text, asked for each time, beside the progress."""
    for display in _DISPLAYS:
        display.addition = text


_DISPLAYS: list[_Display] = []


class _Display:
    """Shows the latest work from a thread of its own, so that work which reports nothing for long is seen to last."""

    def __init__(self, name: str) -> None:
        self.addition: Callable[[], str] = str
        self._name = name
        self._compiled = 0
        self._work = self._first = WorkDone("", 0, "")
        self._begun = self._first_at = time.monotonic()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._show, name="fastmetrics-progress", daemon=True)
        self._thread.start()

    def watch(self, work: WorkDone) -> None:
        """Take note of work; kernels are counted here."""
        if work is COMPILING:
            self._compiled += 1
            work = WorkDone(work.stage, self._compiled, work.unit)
        if (work.stage, work.unit) != (self._work.stage, self._work.unit) or work.done < self._work.done:
            self._first, self._first_at = work, time.monotonic()
        self._work = work

    def close(self) -> None:
        """Show nothing more."""
        self._closed.set()
        self._thread.join()

    def _show(self) -> None:
        if self._closed.wait(AFTER):
            return
        from rich.console import Console

        console = Console(stderr=True)
        with suppress(OSError, ValueError):  # the terminal may be closed
            if (console.is_terminal and not console.is_dumb_terminal) or console.is_jupyter:
                self._draw(console)
            else:
                self._print()

    def _draw(self, console: Console) -> None:
        """Draw a bar, again and again."""
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(24),
            TaskProgressColumn(),
            TextColumn("{task.fields[figures]}", markup=False),
        )
        # the result is printed on standard output, which rich would redirect to this console
        with Progress(*columns, console=console, auto_refresh=False, transient=True, redirect_stdout=False) as bars:
            bar = bars.add_task(self._name, total=None, figures="")
            while True:
                work = self._work
                total = None if work.share is None else 1.0
                description = work.stage or self._name
                bars.update(bar, description=description, completed=work.share or 0.0, total=total)
                bars.update(bar, figures=self.figures(time.monotonic()), refresh=True)
                if self._closed.wait(REDRAWN_EVERY):
                    return

    def _print(self) -> None:
        """Print a line, again and again."""
        while not self._closed.wait(PRINTED_EVERY):
            share = self._work.share
            figures = self.figures(time.monotonic())
            figures = figures if share is None else f"{share:.0%}, {figures}"
            print(f"{self._work.stage or self._name}: {figures}", file=sys.stderr, flush=True)

    def figures(self, now: float) -> str:
        """What is done of how much, the rate of this stage, and the time left; without a total, the time so far."""
        work, first = self._work, self._first
        pieces = []
        if work.done:
            of = f" of {work.total:,}" if work.total else ""
            pieces += [f"{work.done:,}{of} {work.unit}"]
        seconds = now - self._first_at
        done, share = work.done - first.done, (work.share or 0.0) - (first.share or 0.0)
        if done > 0 and seconds > 0 and work.stage != COMPILING.stage:
            rate = done / seconds
            pieces += [f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s"]
        if work.share is not None and share > 0:
            pieces += [f"{_clock(seconds * (1 - work.share) / share)} left"]
        else:
            pieces += [_clock(now - self._begun)]
        return ", ".join(filter(None, [*pieces, self.addition()]))


def _clock(seconds: float) -> str:
    """Minutes and seconds, and hours if there are any.

    >>> _clock(0.4), _clock(75), _clock(3675)
    ('0:00', '1:15', '1:01:15')
    """
    minutes, second = divmod(int(max(seconds, 0.0)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
