"""``fastmetrics answer``: let a bot answer a file of questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from fastmetrics.commands.models.model_calls import (
    exit_with_failed_rows,
    report_spent_budget,
    spent,
    watch_spending,
)
from fastmetrics.commands.options.option_groups import Arguments, OptionsOf
from fastmetrics.commands.options.option_syntax import FromText, split
from fastmetrics.commands.options.shared_options import (
    ColumnNames,
    DryRun,
    Files,
    Keep,
    OutputIfAny,
    Overwrite,
    Plugins,
    Quiet,
    Resume,
    Sample,
    Seed,
    Table,
    print_bad_rows,
)
from fastmetrics.core.setting_descriptions import descriptions
from fastmetrics.derive.calls.call_options import KNOWLEDGE, MODEL, TEMPLATE, BotOptions, JudgeOptions
from fastmetrics.errors import OptionError

_BOTS = ("full-context", "given-contexts", "faq")


@dataclass(frozen=True, kw_only=True)
class BotChoice:
    """The bot, and what it reads."""

    bot: Annotated[
        str,
        typer.Option(
            help="full-context: a model reads the knowledge and the question; given-contexts: a model reads the "
            "contexts of each row and the question; faq: the most similar FAQ row."
        ),
    ]
    model: Annotated[str | None, typer.Option(help=MODEL)] = None
    knowledge: Annotated[list[str] | None, typer.Option(help=KNOWLEDGE)] = None
    template: Annotated[str | None, typer.Option(help=TEMPLATE)] = None
    faq: Annotated[str | None, typer.Option(help="A file with question and answer columns.")] = None


def answer(
    table: Table,
    *,
    output: OutputIfAny = None,
    choice: BotChoice,
    settings: Annotated[dict[str, Any], OptionsOf(BotOptions)],
    system: Annotated[str | None, typer.Option(help="The value of the column system. Default: the bot's name.")] = None,
    columns: ColumnNames = None,
    keep: Keep = None,
    repeats: Annotated[
        int,
        typer.Option(help="Answers of each question, each from a call of its own; rows get the number of the repeat."),
    ] = 1,
    retry: Annotated[list[str] | None, typer.Option(help=descriptions(JudgeOptions)["retry"]), FromText(split)] = None,
    sample: Sample = None,
    seed: Seed = 0,
    dry_run: DryRun = False,
    files: Files,
    resume: Resume = False,
    overwrite: Overwrite = False,
    plugin: Plugins = None,
    quiet: Quiet = False,
    arguments: Arguments,
) -> None:
    """Let a bot answer every question.

    Store all replies of its model, and write a table for score.
    """
    from fastmetrics.core.display import folded

    columns_by_name = arguments.get("columns", {})
    bot = _bot(choice, columns_by_name, settings)
    arguments["columns"] = {name: column for name, column in columns_by_name.items() if name != "answer"}
    if dry_run:
        from fastmetrics.derive.dry_run import estimate_answering

        typer.echo(str(arguments.call(estimate_answering, bot=bot)))
        return
    if output is None:
        raise OptionError("--output is missing: name the file of answers, or add --dry-run")
    from fastmetrics.derive.bots.answer import answer
    from fastmetrics.tables.output.protected_inputs import check_not_read

    check_not_read(str(output), [choice.faq, choice.knowledge])

    done = arguments.call(answer, bot=bot, watch=watch_spending(quiet))
    report_spent_budget(done.spending)
    if not quiet:
        run = done.run
        statuses = ", ".join(f"{count:,} {status}" for status, count in done.statuses.items())
        each = "" if repeats == 1 else f", {repeats:,} answers each"
        typer.echo(
            f"{run.rows // repeats:,} questions{each} ({statuses}) in {run.seconds['total']:.1f} s: {run.output}"
        )
        if choice.bot != "faq":
            typer.echo(spent(done.spending))
        for line in folded(run.notes):
            typer.echo(line)
        print_bad_rows(run)
    exit_with_failed_rows(done.failed)


def _bot(choice: BotChoice, columns: dict[str, str], settings: dict[str, Any]) -> Any:
    """The bot; raises ``OptionError`` for an unknown one, and for options that do not fit it."""
    from fastmetrics.core.allowed_values import Choice, argument
    from fastmetrics.derive.bots.full_context_bot import FullContextBot, read_knowledge
    from fastmetrics.derive.bots.prompt_bot import GivenContextsBot
    from fastmetrics.faq.match import read_faq

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
