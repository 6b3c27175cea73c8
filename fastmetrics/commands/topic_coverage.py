"""``fastmetrics topic-coverage``: what a log's questions are about, and the gaps of the knowledge base."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands import log_options
from fastmetrics.commands.options import Seed, Threads


def topic_coverage(
    log: log_options.Logs,
    *,
    topics: Annotated[int, typer.Option(help="Number of topics.")] = 20,
    embedder: log_options.Embedder = None,
    cache: log_options.Cache = None,
    k: log_options.Positions = 5,
    seed: Seed = 42,
    chunks: Annotated[str | None, typer.Option(help="Table of chunks with their sources.", metavar="CHUNKS")] = None,
    chunk_column: log_options.ChunkColumn = None,
    source_column: Annotated[str, typer.Option(help="Column of sources in --chunks.")] = "source",
    scores: log_options.Scores = None,
    failure: Annotated[
        str | None, typer.Option(help="Score from 0 to 1; failure is 1 - score. By default unanswered questions fail.")
    ] = None,
    columns: log_options.ColumnNames = None,
    schema: log_options.Schema = None,
    format: log_options.Format = None,
    output: log_options.Output = None,
    overwrite: log_options.Overwrite = False,
    threads: Threads = None,
    as_json: log_options.AsJson = False,
) -> None:
    """Find topics of questions, and gaps of knowledge.

    Print what the knowledge base has on each topic.
    """
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import pairs
    from fastmetrics.usage.topics.topic_coverage import topic_coverage

    place = log_options.output_place(output, log, chunks, overwrite=overwrite)
    found = topic_coverage(
        log,
        topics=topics,
        k=k,
        seed=seed,
        embedder=embedder,
        cache=cache,
        chunks=chunks,
        chunk_column=chunk_column,
        source_column=source_column,
        scores=names(scores, "--scores"),
        failure=failure,
        columns=pairs(columns),
        schema=schema,
        format=format,
        threads=threads,
    )
    log_options.show(found, place, as_json)
