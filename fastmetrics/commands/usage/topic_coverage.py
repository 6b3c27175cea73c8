"""``fastmetrics topic-coverage``: what a log's questions are about, and the gaps of the knowledge base."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Cache, EmbedderName, Seed, Table, Threads
from fastmetrics.commands.usage.usage_options import (
    AverageScores,
    ChunkColumn,
    Chunks,
    LogOptions,
    Positions,
)


def topic_coverage(
    log: Table,
    *,
    topics: Annotated[int, typer.Option(help="Number of topics.")] = 20,
    embedder: EmbedderName = None,
    cache: Cache = None,
    k: Positions = 5,
    seed: Seed = 42,
    chunks: Chunks = None,
    chunk_column: ChunkColumn = None,
    source_column: Annotated[str, typer.Option(help="Column of sources in the table of chunks.")] = "source",
    scores: AverageScores = None,
    failure: Annotated[
        str | None, typer.Option(help="Score from 0 to 1; failure is 1 - score. By default unanswered questions fail.")
    ] = None,
    options: LogOptions,
    threads: Threads = None,
    arguments: Arguments,
) -> Any:
    """Find topics of questions, and gaps of knowledge.

    Print what the knowledge base has on each topic.
    """
    from fastmetrics.usage.topics.topic_coverage import topic_coverage

    return options.analysed(topic_coverage, arguments, log, chunks)
