"""``fastmetrics evaluate-rag``: from questions to the report of a RAG system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from fastmetrics.base.errors import OptionError
from fastmetrics.commands.models.bot_choice import BotChoice, BotSettings, chosen_bot
from fastmetrics.commands.models.model_calls import exit_with_failed_rows, report_spent_budget, spent, watch_spending
from fastmetrics.commands.options.function_parameters import Before
from fastmetrics.commands.options.option_groups import Arguments, OptionsOf
from fastmetrics.commands.options.option_syntax import FromText, name_list
from fastmetrics.commands.options.shared_options import Plugins, Quiet
from fastmetrics.commands.program.printing import print_result
from fastmetrics.commands.program.terminal import echo
from fastmetrics.models.call_setup import RUBRICS
from fastmetrics.reporting.evaluate_rag import ChunkSettings


@dataclass(frozen=True, kw_only=True)
class JudgeChoice:
    """The judge of the answers; without rubrics there is none."""

    rubrics: Annotated[list[str] | None, typer.Option(help=RUBRICS), FromText(name_list)] = None
    judge_model: Annotated[str | None, typer.Option(help="The model of the judge. Default: the bot's.")] = None
    judge_base_url: Annotated[
        str | None, typer.Option(help="The address of the judge's server, as --base-url. Default: the bot's.")
    ] = None


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
    judges: JudgeChoice,
    chunk_settings: Annotated[ChunkSettings, OptionsOf(ChunkSettings), Before("metrics")],
    arguments: Arguments,
    plugin: Plugins = None,
    quiet: Quiet = False,
) -> None:
    """Evaluate a RAG system from questions to report.

    Embed questions, search chunks, let a bot answer from them, judge, score and report.
    """
    from fastmetrics.base.display import folded

    bot = chosen_bot(choice, arguments.get("columns", {}), settings)
    judge = _chosen_judge(judges, choice, settings)
    done = arguments.call(bot=bot, judges=judge, watch=watch_spending(quiet))
    for spending in (done.spending, done.judging):
        if spending is not None:
            report_spent_budget(spending)
    if not quiet:
        print_result(done.summary)
        statuses = ", ".join(f"{count:,} {status}" for status, count in done.statuses.items())
        reused = f"; used from before: {', '.join(map(str, done.reused))}" if done.reused else ""
        echo(f"\nanswers: {statuses}; files of all stages: {done.folder}{reused}")
        if choice.calls_model and done.spending is not None:
            echo(spent(done.spending))
        if done.judging is not None:
            echo(f"judge: {spent(done.judging)}")
        for line in folded(done.notes):
            echo(line)
    exit_with_failed_rows(done.failed)


def _chosen_judge(judges: JudgeChoice, choice: BotChoice, settings: dict[str, Any]) -> Any:
    """The judge with the settings of calls; raises ``OptionError`` for rubrics without a model, and the reverse."""
    if not judges.rubrics:
        if judges.judge_model is not None or judges.judge_base_url is not None:
            raise OptionError("--judge-model and --judge-base-url need --rubrics NAME, what the judge rates")
        return None
    model = judges.judge_model or choice.model
    if model is None:
        raise OptionError(f"--rubrics needs --judge-model NAME, since --bot {choice.bot} has no model")
    from fastmetrics.models.clients import address_of
    from fastmetrics.reporting.evaluate_rag import judge_with

    if judges.judge_base_url is not None:
        address_of(judges.judge_base_url, "judge_base_url")
    return judge_with(judges.rubrics, settings, model, judges.judge_base_url)
