"""Shared code of the commands that call models: call parameters, spending and progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastmetrics.derive.calls.budget import Spending
    from fastmetrics.engines.job import Progress


def spent(spending: Spending) -> str:
    """One line about the calls of a run so far: requests, replies, failures by kind, tokens, cost.

    >>> from fastmetrics.derive.calls.budget import Spending
    >>> spent(Spending(requests=3, replies=2, from_store=5, prompt_tokens=1000, cost=0.5))
    '3 requests, 2 replies, 5 from the store, 1,000 + 0 tokens, cost 0.5'
    """
    failed = [f"{count:,} {kind}" for kind, count in sorted(spending.failures.items())]
    pieces = [
        f"{spending.requests:,} requests",
        f"{spending.replies:,} replies",
        f"{spending.from_store:,} from the store",
    ]
    pieces += [f"given up: {', '.join(failed)}"] if failed else []
    pieces += [f"{spending.prompt_tokens:,} + {spending.completion_tokens:,} tokens"]
    pieces += [f"{spending.uncounted:,} replies without token counts"] if spending.uncounted else []
    pieces += [f"waiting {spending.waits:,.0f} s as the server asks"] if spending.waits else []
    pieces += [] if spending.cost is None else [f"cost {spending.cost:,.4g}"]
    return ", ".join(pieces + (["without structured output"] if spending.unstructured else []))


def report_spent_budget(spending: Spending) -> None:
    """Print why the budget ended a run, if it did, and what to do."""
    import typer

    if spending.refusal is not None:
        typer.echo(
            f"the budget is spent: {spending.refusal}; the remaining rows have the status budget: run again with "
            "--overwrite to make their calls",
            err=True,
        )


FAILED_ROWS = 9
"""The exit code of a complete output in which rows have no reply, since their calls failed."""


def exit_with_failed_rows(failed: Mapping[str, int]) -> None:
    """Print how many rows have no reply and how to ask again, and exit with a code of their own, if there are any."""
    import typer

    if not failed:
        return
    by_status = ", ".join(f"{count:,} {status}" for status, count in failed.items())
    typer.echo(
        f"{sum(failed.values()):,} rows without a reply, since their calls failed ({by_status}); the output is "
        "complete. Run again with --overwrite to ask for them: all other replies come from the store",
        err=True,
    )
    raise typer.Exit(FAILED_ROWS)


@dataclass
class _Shown:
    """A progress bar of finished rows and spending; nothing without a terminal."""

    rows: Callable[[Progress], None] | None
    watch: Callable[[Spending], None] | None


def _announce_waits(spending: Spending) -> None:
    """Print each long wait that the server asks for."""
    import typer

    spending.on_wait = lambda seconds: typer.echo(f"the server asks to wait {seconds:,.0f} s; waiting", err=True)


@contextmanager
def progress_of_calls(quiet: bool, work: str) -> Iterator[_Shown]:
    """A progress bar on standard error, if that is a terminal."""
    if quiet:
        yield _Shown(None, None)
        return
    if not sys.stderr.isatty():
        yield _Shown(None, _announce_waits)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    watched: list[Spending] = []

    class Spent(TextColumn):
        def render(self, task: Any) -> Text:
            return Text(spent(watched[-1]) if watched else "")

    shown = (TextColumn("{task.description}"), BarColumn(bar_width=20), TimeRemainingColumn(), Spent(""))
    with Bar(*shown, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(work, total=None)

        def rows(done: Progress) -> None:
            by_rows = done.total_rows is not None
            bar.update(
                task,
                completed=done.rows if by_rows else done.nbytes,
                total=done.total_rows if by_rows else done.total_bytes or None,
                description=f"{done.rows:,} rows",
            )

        yield _Shown(rows, watched.append)
