"""``fastmetrics topics``: what a log's questions are about, and the gaps of the knowledge base."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands import log_options as log
from fastmetrics.commands.options import Threads


def topics(
    inputs: log.Logs,
    *,
    count: Annotated[int, typer.Option("--topics", help="Number of topics.")] = 20,
    embedder: log.Embedder = None,
    cache: log.Cache = None,
    k: Annotated[int, typer.Option("-k", help="Positions of each ranking to count.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the clusters.")] = 42,
    chunks: Annotated[str | None, typer.Option(help="Table of chunks with their sources.", metavar="CHUNKS")] = None,
    chunk_column: Annotated[
        str | None, typer.Option(help="Column of chunk ids in --chunks; by default chunk_id or id.")
    ] = None,
    source_column: Annotated[str, typer.Option(help="Column of sources in --chunks.")] = "source",
    scores: log.Scores = None,
    failure: Annotated[
        str | None, typer.Option(help="Score from 0 to 1; failure is 1 - score. By default unanswered questions fail.")
    ] = None,
    columns: log.ColumnNames = None,
    schema: log.Schema = None,
    format: log.Format = None,
    out: log.Out = None,
    overwrite: log.Overwrite = False,
    threads: Threads = None,
    as_json: log.AsJson = False,
) -> None:
    """Find topics of questions, and gaps of the knowledge base.

    Print what the knowledge base has on each topic.
    """
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import pairs
    from fastmetrics.usage.topics import topic_coverage

    place = log.out_place(out, inputs, chunks, overwrite=overwrite)
    found = topic_coverage(
        inputs,
        count,
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
    log.show(found, place, as_json)
