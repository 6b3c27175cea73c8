"""``fastmetrics chunk-utilization``: which chunks of a knowledge base a log uses."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands import log_options
from fastmetrics.commands.options import Threads


def chunk_utilization(
    log: log_options.Logs,
    *,
    chunks: Annotated[
        str | None, typer.Option(help="Table of all chunks, to find those never retrieved.", metavar="CHUNKS")
    ] = None,
    k: log_options.Positions = 10,
    scores: log_options.Scores = None,
    share: Annotated[float, typer.Option(help="Report how many chunks fill this share of all positions.")] = 0.8,
    chunk_column: log_options.ChunkColumn = None,
    columns: log_options.ColumnNames = None,
    schema: log_options.Schema = None,
    format: log_options.Format = None,
    output: log_options.Output = None,
    table: Annotated[
        str | None, typer.Option(help="Write a table of chunks with their use to this file.", metavar="PATH")
    ] = None,
    overwrite: log_options.Overwrite = False,
    threads: Threads = None,
    as_json: log_options.AsJson = False,
) -> None:
    """Count how often each chunk of a log is used.

    Count how often rankings retrieve it, answers cite it, and users need it.
    """
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import pairs
    from fastmetrics.tables.output.write_table import table_place, write_whole
    from fastmetrics.usage.chunks.chunk_utilization import chunk_utilization

    place = log_options.output_place(output, log, chunks, overwrite=overwrite)
    chunk_place = None if table is None else table_place(table, [log, chunks, output], overwrite=overwrite)
    found = chunk_utilization(
        log,
        chunks=chunks,
        k=k,
        scores=names(scores, "--scores"),
        share=share,
        chunk_column=chunk_column,
        columns=pairs(columns),
        schema=schema,
        format=format,
        threads=threads,
    )
    if chunk_place is not None:
        write_whole(found.to_arrow(), chunk_place, {"usage": found.k}, {"chunk"})
    log_options.show(found, place, as_json)
