"""``fastmetrics chunk-utilization``: which chunks of a knowledge base a log uses."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.logs.log_options import (
    AverageScores,
    ChunkColumn,
    Chunks,
    LogOptions,
    Positions,
)
from fastmetrics.commands.options.option_syntax import name_list
from fastmetrics.commands.options.shared_options import Table, Threads


def chunk_utilization(
    log: Table,
    *,
    chunks: Chunks = None,
    k: Positions = 10,
    scores: AverageScores = None,
    share: Annotated[float, typer.Option(help="Report how many chunks fill this share of all positions.")] = 0.8,
    chunk_column: ChunkColumn = None,
    options: LogOptions,
    table: Annotated[
        str | None, typer.Option(help="Write a table of chunks with their use to this file.", metavar="PATH")
    ] = None,
    threads: Threads = None,
) -> None:
    """Count how often each chunk of a log is used.

    Count how often rankings retrieve it, answers cite it, and users need it.
    """
    from fastmetrics.tables.output.write_table import table_place, write_whole
    from fastmetrics.usage.knowledge_chunks.chunk_utilization import chunk_utilization

    place = options.place(log, chunks)
    chunk_place = (
        None if table is None else table_place(table, [log, chunks, options.output], overwrite=options.overwrite)
    )
    figures = chunk_utilization(
        log,
        chunks=chunks,
        k=k,
        scores=name_list(scores, "--scores"),
        share=share,
        chunk_column=chunk_column,
        threads=threads,
        **options.reading(),
    )
    if chunk_place is not None:
        write_whole(figures.to_arrow(), chunk_place, {"usage": figures.k}, {"chunk"})
    options.show(figures, place)
