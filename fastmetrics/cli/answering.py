"""The commands that answer questions, by a bot or from an FAQ, and from questions to the report of a RAG system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from fastmetrics.base.display import folded, number, row_count
from fastmetrics.base.errors import ColumnError, OptionError
from fastmetrics.cli.model_calls import (
    BotChoice,
    BotSettings,
    chosen_bot,
    exit_with_lacking_rows,
    report_spent_budget,
    spent,
    watch_spending,
)
from fastmetrics.cli.options import (
    Arguments,
    DryRun,
    FromText,
    OptionsOf,
    Output,
    Plugins,
    Quiet,
    Table,
    guarded,
    name_list,
    print_bad_rows,
)
from fastmetrics.cli.terminal import echo, echo_line
from fastmetrics.models.answer import answer
from fastmetrics.models.call_setup import RUBRICS
from fastmetrics.models.clients import address_of
from fastmetrics.models.dry_run import estimate_answering
from fastmetrics.reporting.evaluate_rag import REPORT, SCORES, evaluate_rag, judge_with
from fastmetrics.retrieval.faq import match
from fastmetrics.tables.targets import check_not_read

# The commands that answer questions, by a bot or from an FAQ.


def answer_command(
    table: Table,
    *,
    choice: BotChoice,
    settings: BotSettings,
    arguments: Annotated[Arguments, OptionsOf(answer)],
    dry_run: DryRun = False,
    plugin: Plugins = None,
    quiet: Quiet = False,
) -> None:
    """Store all replies of its model, and write a table for score."""
    columns_by_name = arguments.get("columns", {})
    bot = chosen_bot(choice, columns_by_name, settings)
    arguments["columns"] = {name: column for name, column in columns_by_name.items() if name != "answer"}
    if dry_run:
        echo(str(arguments.call(estimate_answering, bot=bot)))
        return
    if arguments["output"] is None:
        raise OptionError("--output is missing: name the file of answers, or add --dry-run")
    check_not_read(str(arguments["output"]), [choice.faq, choice.knowledge])

    try:
        done = arguments.call(answer, bot=bot, watch=watch_spending(quiet or not choice.calls_model))
    except ColumnError as error:
        if choice.faq is None or not columns_by_name:
            raise
        raise ColumnError(error.message, "; --columns is about the questions, --faq-columns about the FAQ") from error
    report_spent_budget(done.spending)
    if not quiet:
        repeats = arguments["repeats"]
        statuses = ", ".join(f"{count:,} {status}" for status, count in done.counts.items())
        each = "" if repeats == 1 else f", {repeats:,} answers each"
        answered = f"{done.rows // repeats:,} questions{each} ({statuses})"
        echo_line(f"{answered} in {done.seconds['total']:.1f} s: {done.output}")
        if choice.calls_model:
            echo(spent(done.spending))
        for line in folded(done.notes):
            echo(line)
        print_bad_rows(done)
    exit_with_lacking_rows(done.failed, {"answers": done.counts}, calls_model=choice.calls_model)


def match_command(
    questions: Annotated[str, typer.Argument(help="A file with a question column.", show_default=False)],
    faq: Annotated[str, typer.Argument(help="A file with question and answer columns.", show_default=False)],
    *,
    output: Output,
    arguments: Annotated[Arguments, OptionsOf(match)],
) -> None:
    """The column score has the similarity, the cosine of the sets of words of two questions, and index the row of the
    FAQ, from 0.  A question that shares no word with any row has the score 0 and no answer.
    """
    matched = arguments.call(match)
    lacking = f", {matched.unanswered:,} of them without an answer" if matched.unanswered else ""
    echo_line(f"{matched.rows:,} questions{lacking}: {output}")
    if matched.guarded:
        echo(guarded(matched.guarded))


# ``fastmetrics evaluate-rag``: from questions to the report of a RAG system.


@dataclass(frozen=True, kw_only=True)
class JudgeChoice:
    """The judge of the answers; without rubrics there is none."""

    rubrics: Annotated[list[str] | None, typer.Option(help=RUBRICS), FromText(name_list)] = None
    judge_model: Annotated[str | None, typer.Option(help="The model of the judge. Default: the bot's.")] = None
    judge_base_url: Annotated[
        str | None, typer.Option(help="The address of the judge's server, as --base-url. Default: the bot's.")
    ] = None


def evaluate_rag_command(
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
    arguments: Annotated[Arguments, OptionsOf(evaluate_rag)],
    plugin: Plugins = None,
    quiet: Quiet = False,
) -> None:
    """Embed questions, search chunks, let a bot answer from them, judge, score and report."""
    bot = chosen_bot(choice, arguments.get("columns", {}), settings)
    judge = _chosen_judge(judges, choice, settings)
    watch = watch_spending(quiet or not (choice.calls_model or judges.rubrics))
    done = arguments.call(evaluate_rag, bot=bot, judges=judge, watch=watch)
    for spending in (done.spending, done.judging):
        if spending is not None:
            report_spent_budget(spending)
    if not quiet:
        if (page := done.folder / REPORT).exists():
            echo_line(f"the page to read: {page}")
        statuses = ", ".join(f"{count:,} {status}" for status, count in done.statuses.items())
        echo_line(f"answers: {statuses}; files of all stages: {done.folder}")
        if choice.calls_model and done.spending is not None:
            echo(spent(done.spending))
        if done.judging is not None:
            echo(f"judge: {spent(done.judging)}")
        for name in done.first:
            echo(f"{name}: {number(done.summary[name].mean)}, the mean of {row_count(done.summary[name].n)}")
        echo_line(f"all scores and notes: fastmetrics summarize {done.folder / SCORES}")
        for line in folded(done.notes):
            echo(line)
    again, asked = "Run the same command again", {"answers": done.statuses, **done.judged}
    exit_with_lacking_rows(done.failed, asked, again, calls_model=choice.calls_model)


def _chosen_judge(judges: JudgeChoice, choice: BotChoice, settings: dict[str, Any]) -> Any:
    """The judge with the settings of calls; raises ``OptionError`` for rubrics without a model, and the reverse."""
    if not judges.rubrics:
        if judges.judge_model is not None or judges.judge_base_url is not None:
            raise OptionError("--judge-model and --judge-base-url need --rubrics NAME, what the judge rates")
        return None
    model = judges.judge_model or choice.model
    if model is None:
        raise OptionError(f"--rubrics needs --judge-model NAME, since --bot {choice.bot} has no model")
    if judges.judge_base_url is not None:
        address_of(judges.judge_base_url, "judge_base_url")
    return judge_with(judges.rubrics, settings, model, judges.judge_base_url)
