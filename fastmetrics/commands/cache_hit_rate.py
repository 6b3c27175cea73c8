"""``fastmetrics cache-hit-rate``: what a cache of answers would have saved."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands import log_options
from fastmetrics.commands.options import Threads


def cache_hit_rate(
    log: log_options.Logs,
    *,
    tau: Annotated[float, typer.Option(help="Cosine above which an earlier question counts as the same.")] = 0.85,
    best: Annotated[
        float | None, typer.Option(help="Minimum rating of stored answers; by default the highest rating.")
    ] = None,
    embedder: log_options.Embedder = None,
    cache: log_options.Cache = None,
    columns: log_options.ColumnNames = None,
    schema: log_options.Schema = None,
    format: log_options.Format = None,
    output: log_options.Output = None,
    overwrite: log_options.Overwrite = False,
    threads: Threads = None,
    as_json: log_options.AsJson = False,
) -> None:
    """Estimate what a cache of answers would have saved.

    Count the questions that resemble an earlier question with a good answer.
    """
    from fastmetrics.commands.options import pairs
    from fastmetrics.usage.cache_hit_rate import cache_hit_rate

    place = log_options.output_place(output, log, overwrite=overwrite)
    hits = cache_hit_rate(
        log,
        tau=tau,
        best=best,
        embedder=embedder,
        cache=cache,
        columns=pairs(columns),
        schema=schema,
        format=format,
        threads=threads,
    )
    log_options.show(hits, place, as_json)
