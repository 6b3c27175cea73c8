"""``fastmetrics chunk-utilization``: which chunks of a knowledge base a log uses."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Table, Threads
from fastmetrics.commands.usage.usage_options import LogOptions


def chunk_utilization(
    log: Table,
    *,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.usage.knowledge_chunks.chunk_utilization")],
    options: LogOptions,
    table: Annotated[
        str | None, typer.Option(help="Write a table of chunks with their use to this file.", metavar="PATH")
    ] = None,
    threads: Threads = None,
) -> Any:
    """Count how often each chunk of a log is used.

    Count how often rankings retrieve it, answers cite it, and users need it.
    """
    from fastmetrics.tables.output.write_table import table_place, write_whole

    chunks = arguments["chunks"]
    options.place(log, chunks)
    written = [log, chunks, options.output]
    place = None if table is None else table_place(table, written, overwrite=options.overwrite)
    figures = options.analysed(arguments, log, chunks)
    if place is not None:
        write_whole(figures.to_arrow(), place, {"usage": figures.k}, {"chunk"})
    return figures
