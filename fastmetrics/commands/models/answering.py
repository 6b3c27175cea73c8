"""The commands that answer questions, by a bot or from an FAQ."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.base.errors import OptionError
from fastmetrics.commands.models.bot_choice import BotChoice, BotSettings, chosen_bot
from fastmetrics.commands.models.model_calls import exit_with_failed_rows, report_spent_budget, spent, watch_spending
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import (
    DryRun,
    Files,
    Output,
    Plugins,
    Quiet,
    Table,
    guarded,
    print_bad_rows,
)
from fastmetrics.commands.program.terminal import echo


def answer(
    table: Table,
    *,
    choice: BotChoice,
    settings: BotSettings,
    arguments: Arguments,
    dry_run: DryRun = False,
    files: Files,
    plugin: Plugins = None,
    quiet: Quiet = False,
) -> None:
    """Let a bot answer every question.

    Store all replies of its model, and write a table for score.
    """
    from fastmetrics.base.display import folded

    columns_by_name = arguments.get("columns", {})
    bot = chosen_bot(choice, columns_by_name, settings)
    arguments["columns"] = {name: column for name, column in columns_by_name.items() if name != "answer"}
    if dry_run:
        from fastmetrics.models.dry_run import estimate_answering

        echo(str(arguments.call(estimate_answering, bot=bot)))
        return
    if arguments["output"] is None:
        raise OptionError("--output is missing: name the file of answers, or add --dry-run")
    from fastmetrics.tables.output_places import check_not_read

    check_not_read(str(arguments["output"]), [choice.faq, choice.knowledge])

    done = arguments.call(bot=bot, watch=watch_spending(quiet))
    report_spent_budget(done.spending)
    if not quiet:
        run, repeats = done.run, arguments["repeats"]
        statuses = ", ".join(f"{count:,} {status}" for status, count in done.statuses.items())
        each = "" if repeats == 1 else f", {repeats:,} answers each"
        echo(f"{run.rows // repeats:,} questions{each} ({statuses}) in {run.seconds['total']:.1f} s: {run.output}")
        if choice.calls_model:
            echo(spent(done.spending))
        for line in folded(run.notes):
            echo(line)
        print_bad_rows(run)
    exit_with_failed_rows(done.failed)


def match(
    questions: Annotated[str, typer.Argument(help="A file with a question column.", show_default=False)],
    faq: Annotated[str, typer.Argument(help="A file with question and answer columns.", show_default=False)],
    *,
    output: Output,
    arguments: Arguments,
) -> None:
    """Answer every question from the most similar FAQ row.

    Similarity is that of the words of the questions.
    """
    matched = arguments.call()
    echo(f"{matched.rows:,} questions answered: {output}")
    if matched.guarded:
        echo(guarded(matched.guarded))
