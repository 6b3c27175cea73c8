"""``fastmetrics evaluate-rag``: from questions to the report of a RAG system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from fastmetrics.commands.models.bot_choice import BotChoice, BotSettings, chosen_bot
from fastmetrics.commands.models.model_calls import (
    exit_with_failed_rows,
    report_spent_budget,
    spent,
    watch_spending,
)
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText, split
from fastmetrics.commands.options.shared_options import (
    ColumnNames,
    EmbedderName,
    Overwrite,
    PgvectorSettings,
    Plugins,
    Quiet,
    Threads,
)
from fastmetrics.commands.program.printing import print_result


@dataclass(frozen=True, kw_only=True)
class ChunkSearch:
    """The chunks, and how they are searched."""

    k: Annotated[int, typer.Option("-k", help="Chunks per question.")] = 5
    index: Annotated[
        str | None, typer.Option(help="The folder of an index of the chunks; by default one is built.")
    ] = None
    text: Annotated[str, typer.Option(help="The column of the texts of chunks.")] = "text"
    vector: Annotated[
        str | None, typer.Option(help="The column of vectors of the chunks; by default the only one.")
    ] = None
    id: Annotated[str, typer.Option(help="The column of ids of the chunks.")] = "id"
    metric: Annotated[str, typer.Option(help="Distance of vectors: cosine, euclidean or dot.")] = "cosine"
    pgvector: PgvectorSettings = None


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
    embedder: EmbedderName = "wordllama",
    search: ChunkSearch,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metrics", "-m", help="Metrics: token_f1,ndcg@5. Default: the tiers.", metavar="METRIC,..."),
        FromText(split),
    ] = None,
    suites: Annotated[
        list[str] | None,
        typer.Option(
            "--suites", help="Suites, as far as the columns allow. Default: tier0 to tier3.", metavar="SUITE,..."
        ),
        FromText(split),
    ] = None,
    columns: ColumnNames = None,
    repeats: Annotated[int, typer.Option(help="Answers of each question, each from a call of its own.")] = 1,
    overwrite: Overwrite = False,
    threads: Threads = None,
    plugin: Plugins = None,
    quiet: Quiet = False,
    arguments: Arguments,
) -> None:
    """Evaluate a RAG system from questions to report.

    Embed questions, search chunks, let a bot answer from them, score and report.
    """
    from fastmetrics.core.display import folded
    from fastmetrics.reporting.rag.evaluate_rag import evaluate_rag

    bot = chosen_bot(choice, arguments.get("columns", {}), settings)
    done = arguments.call(evaluate_rag, bot=bot, watch=watch_spending(quiet))
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
