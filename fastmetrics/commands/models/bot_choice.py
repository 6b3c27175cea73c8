"""The bots of the commands that ask one: which, and what it reads."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from fastmetrics.base.errors import OptionError
from fastmetrics.commands.options.option_groups import OptionsOf
from fastmetrics.models.call_setup import KNOWLEDGE, MODEL, TEMPLATE, BotOptions

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
    bot = argument("bot", choice.bot, Choice(*_BOTS))
    if bot == "faq":
        if choice.faq is None:
            raise OptionError("--bot faq needs --faq FILE, a table with the columns question and answer")
        return read_faq(choice.faq, columns)
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
    from fastmetrics.base.plugin_files import execute
    from fastmetrics.models.bots import FunctionBot

    place, _, name = choice.bot.rpartition(":")
    try:
        if place.endswith(".py"):
            module = sys.modules[execute(str(Path(place).absolute()), Path(place).read_text("utf-8"))]
        else:
            sys.path.insert(0, "")  # as for python -m
            module = importlib.import_module(place)
    except (ImportError, OSError, ValueError) as error:
        raise OptionError(f"--bot {choice.bot}: cannot be imported: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise OptionError(f"--bot {choice.bot}: {place} has no function {name!r}")
    own = {option: settings[option] for option in ("concurrency", "timeout", "store")}
    return FunctionBot(function, name=choice.bot, **own)
