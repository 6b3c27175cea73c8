"""What commands that call models share: settings of calls, spending, and the bot that is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.display import row_count
from fastmetrics.base.errors import OptionError
from fastmetrics.base.progress import add_to_progress
from fastmetrics.base.shared_parameters import help_of
from fastmetrics.cli.options import FromText, OptionsOf, pairs
from fastmetrics.cli.terminal import print_error
from fastmetrics.models.call_setup import KNOWLEDGE, MODEL, TEMPLATE, BotOptions, client_with

if TYPE_CHECKING:
    from fastmetrics.models.call_sender import Spending

# Shared code of the commands that call models: call parameters, spending and progress.


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
    """Print why the budget ended a run, if it did; :func:`exit_with_lacking_rows` says what to do."""
    if spending.refusal is not None:
        print_error(f"the budget is spent: {spending.refusal}")


FAILED_ROWS, SPENT_BUDGET, ALL_UNREADABLE = 9, 10, 11
"""Exit codes of complete outputs: rows have no reply, since their calls failed, or since the budget was spent before;
no reply to a rubric or a bot can be read.
"""
_ANSWERED = ("ok", "identical", "truncated")


def exit_with_lacking_rows(
    failed: Mapping[str, int],
    asked: Mapping[str, Mapping[str, int]],
    again: str = "Run again with --resume",
    *,
    calls_model: bool = True,
) -> None:
    """Print why rows have no reply and how to ask again, and exit with a code of their own, if there are any.

    ``failed`` counts the rows whose calls failed, by status; ``asked`` has all rows by status, of each rubric or bot;
    ``again`` says how to ask again, unless a Python function answers, which may be at fault itself.
    """
    if failed:
        advice = f"{again} to ask for them: all other replies come from the store"
        if not calls_model:
            advice = "If the function is at fault, correct it; run again with --overwrite"
        by_status = ", ".join(f"{count:,} {status}" for status, count in failed.items())
        print_error(
            f"{row_count(sum(failed.values()))} without a reply, since their calls failed ({by_status}); the output is "
            f"complete. {advice}"
        )
        raise typer.Exit(FAILED_ROWS)
    without = sum(statuses.get("budget", 0) for statuses in asked.values())
    if without:
        have = "has" if without == 1 else "have"
        print_error(
            f"{row_count(without)} {have} the status budget. {again} to make their calls: all other replies come from "
            "the store"
        )
        raise typer.Exit(SPENT_BUDGET)
    for name, statuses in asked.items():
        if statuses.get("unparsed") and not any(statuses.get(status) for status in _ANSWERED):
            print_error(
                f"{name}: none of {statuses['unparsed']:,} replies can be read; the output says why in each row. Try "
                "another model, or ask again with --retry unparsed --overwrite"
            )
            raise typer.Exit(ALL_UNREADABLE)


def watch_spending(quiet: bool) -> Callable[[Spending], None]:
    """The function that shows what a run spends beside its progress, and each long wait; nothing if ``quiet``."""
    return partial(_watch, quiet)


def _watch(quiet: bool, spending: Spending) -> None:
    if not quiet:
        add_to_progress(partial(spent, spending))
    spending.on_wait = (lambda text: None) if quiet else print_error


# The bots of the commands that ask one: which, and what it reads.


BotSettings = Annotated[dict[str, Any], OptionsOf(BotOptions)]
_BOTS = ("full-context", "given-contexts", "faq")


@dataclass(frozen=True, kw_only=True)
class BotChoice:
    """The bot, and what it reads."""

    bot: Annotated[
        str,
        typer.Option(
            help="full-context: a model reads the knowledge and the question; given-contexts: a model reads the "
            "contexts of each row and the question; faq: the most similar FAQ row; MODULE:FUNCTION or "
            "FILE.py:FUNCTION: a Python function of the columns that its parameters name."
        ),
    ]
    model: Annotated[str | None, typer.Option(help=MODEL)] = None
    knowledge: Annotated[list[str] | None, typer.Option(help=KNOWLEDGE)] = None
    template: Annotated[str | None, typer.Option(help=TEMPLATE)] = None
    faq: Annotated[str | None, typer.Option(help="A file with question and answer columns.")] = None
    faq_columns: Annotated[
        list[str] | None, typer.Option(help=help_of(shared.FaqColumns), metavar="NAME=YOURS,..."), FromText(pairs)
    ] = None

    @property
    def calls_model(self) -> bool:
        """Whether the bot is a prompt for a model."""
        return self.bot in ("full-context", "given-contexts")


def chosen_bot(choice: BotChoice, columns: dict[str, str], settings: dict[str, Any]) -> Any:
    """The bot; raises ``OptionError`` for an unknown one, and for options that do not fit it."""
    from fastmetrics.base.options import Choice, argument
    from fastmetrics.models.bots import FullContextBot, GivenContextsBot, read_knowledge
    from fastmetrics.retrieval.faq import read_faq

    if ":" in choice.bot:
        return _function_bot(choice, settings)
    bot = argument("bot", choice.bot, Choice(*_BOTS, "FILE.py:FUNCTION"))
    if bot == "faq":
        if choice.faq is None:
            raise OptionError("--bot faq needs --faq FILE, a table with the columns question and answer")
        own: Any = choice.faq_columns  # by name, as ``pairs`` makes them
        return read_faq(choice.faq, columns, own)
    if bot == "full-context" and not choice.knowledge:
        raise OptionError("--bot full-context needs --knowledge FILE, a text file")
    if bot == "given-contexts" and choice.knowledge:
        raise OptionError("--bot given-contexts reads the contexts of each row; --knowledge is for --bot full-context")
    if choice.model is None:
        raise OptionError(f"--bot {bot} needs --model NAME, the server's name of the model")
    if choice.template is not None:
        settings = {**settings, "template": read_knowledge([choice.template])}
    if bot == "full-context":
        return FullContextBot(read_knowledge(choice.knowledge or []), choice.model, **settings)
    return GivenContextsBot(choice.model, **settings)


def _function_bot(choice: BotChoice, settings: dict[str, Any]) -> Any:
    """The bot of a function in a module or a file; raises ``OptionError`` for one that cannot be imported."""
    from fastmetrics.base.plugin_files import function_in
    from fastmetrics.models.bots import FunctionBot

    function = function_in(choice.bot, "bot")
    calls = client_with(settings["client"], concurrency=settings["concurrency"], store=settings["store"])
    return FunctionBot(
        function, name=choice.bot, concurrency=calls.concurrency, timeout=calls.timeout, store=calls.store
    )
