"""``fastmetrics evaluate-rag``: from questions to the report of a RAG system."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.models.bot_choice import BotChoice, BotSettings, chosen_bot
from fastmetrics.commands.models.model_calls import exit_with_failed_rows, report_spent_budget, spent, watch_spending
from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Plugins, Quiet
from fastmetrics.commands.program.printing import print_result


def evaluate_rag(
    questions: Annotated[
        str, typer.Argument(help="Questions: a file, folder, glob or address of rows.", show_default=False)
    ],
    chunks: Annotated[
        str,
        typer.Argument(
            help="Chunks: a file, folder, glob or address of rows, also a table of PostgreSQL.", show_default=False
        ),
    ],
    *,
    output: Annotated[str, typer.Option("--output", "-o", help="The folder of the files of all stages.")],
    choice: BotChoice,
    settings: BotSettings,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.reporting.rag.evaluate_rag")],
    plugin: Plugins = None,
    quiet: Quiet = False,
) -> None:
    """Evaluate a RAG system from questions to report.

    Embed questions, search chunks, let a bot answer from them, score and report.
    """
    from fastmetrics.core.display import folded

    bot = chosen_bot(choice, arguments.get("columns", {}), settings)
    done = arguments.call(bot=bot, watch=watch_spending(quiet))
    if done.spending is not None:
        report_spent_budget(done.spending)
    if not quiet:
        print_result(done.summary)
        statuses = ", ".join(f"{count:,} {status}" for status, count in done.statuses.items())
        reused = f"; used from before: {', '.join(map(str, done.reused))}" if done.reused else ""
        typer.echo(f"\nanswers: {statuses}; files of all stages: {done.folder}{reused}")
        if choice.calls_model and done.spending is not None:
            typer.echo(spent(done.spending))
        for line in folded(done.notes):
            typer.echo(line)
    exit_with_failed_rows(done.failed)
