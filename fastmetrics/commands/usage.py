"""``fastmetrics usage``: which chunks of a knowledge base a log uses."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands import log_options as log
from fastmetrics.commands.options import Threads


def usage(
    inputs: log.Logs,
    *,
    chunks: Annotated[
        str | None, typer.Option(help="Table of all chunks, to find those never retrieved.", metavar="CHUNKS")
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Positions of each ranking to count.")] = 10,
    scores: log.Scores = None,
    share: Annotated[float, typer.Option(help="Report how many chunks fill this share of all positions.")] = 0.8,
    chunk_column: Annotated[
        str | None, typer.Option(help="Column of chunk ids in --chunks; by default chunk_id or id.")
    ] = None,
    columns: log.ColumnNames = None,
    schema: log.Schema = None,
    format: log.Format = None,
    out: log.Out = None,
    table: Annotated[
        str | None, typer.Option(help="Write a table of chunks with their use to this file.", metavar="PATH")
    ] = None,
    overwrite: log.Overwrite = False,
    threads: Threads = None,
    as_json: log.AsJson = False,
) -> None:
    """Count how often each chunk of a log is used.

    Count how often rankings retrieve it, answers cite it, and users need it.
    """
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import pairs
    from fastmetrics.tables.output.write_table import table_place, write_whole
    from fastmetrics.usage.chunk_utilization import chunk_utilization

    place = log.out_place(out, inputs, chunks, overwrite=overwrite)
    chunk_place = None if table is None else table_place(table, [inputs, chunks, out], overwrite=overwrite)
    found = chunk_utilization(
        inputs,
        chunks,
        k,
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
    log.show(found, place, as_json)
