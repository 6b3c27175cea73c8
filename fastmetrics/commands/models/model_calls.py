"""Shared code of the commands that call models: call parameters, spending and progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import typer

from fastmetrics.base.progress import add_to_progress
from fastmetrics.commands.program.terminal import print_error

if TYPE_CHECKING:
    from fastmetrics.models.call_sender import Spending


def spent(spending: Spending) -> str:
    """One line about the calls of a run so far: requests, replies, failures by kind, tokens, cost.

    >>> from fastmetrics.models.call_sender import Spending
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
    if spending.refusal is not None:
        print_error(
            f"the budget is spent: {spending.refusal}; the remaining rows have the status budget: run again with "
            "--overwrite to make their calls"
        )


FAILED_ROWS = 9
"""The exit code of a complete output in which rows have no reply, since their calls failed."""


def exit_with_failed_rows(failed: Mapping[str, int]) -> None:
    """Print how many rows have no reply and how to ask again, and exit with a code of their own, if there are any."""
    if not failed:
        return
    by_status = ", ".join(f"{count:,} {status}" for status, count in failed.items())
    print_error(
        f"{sum(failed.values()):,} rows without a reply, since their calls failed ({by_status}); the output is "
        "complete. Run again with --overwrite to ask for them: all other replies come from the store"
    )
    raise typer.Exit(FAILED_ROWS)


def watch_spending(quiet: bool) -> Callable[[Spending], None] | None:
    """The function that shows what a run spends beside its progress, and each long wait for the server."""
    return None if quiet else _show


def _show(spending: Spending) -> None:
    add_to_progress(partial(spent, spending))
    spending.on_wait = lambda seconds: print_error(f"the server asks to wait {seconds:,.0f} s; waiting")
