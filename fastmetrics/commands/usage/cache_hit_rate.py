"""``fastmetrics cache-hit-rate``: what a cache of answers would have saved."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Cache, EmbedderName, Table, Threads
from fastmetrics.commands.usage.usage_options import LogOptions


def cache_hit_rate(
    log: Table,
    *,
    tau: Annotated[float, typer.Option(help="Cosine above which an earlier question counts as the same.")] = 0.85,
    best: Annotated[
        float | None, typer.Option(help="Minimum rating of stored answers; by default the highest rating.")
    ] = None,
    embedder: EmbedderName = None,
    cache: Cache = None,
    options: LogOptions,
    threads: Threads = None,
    arguments: Arguments,
) -> Any:
    """Estimate what a cache of answers would have saved.

    Count the questions that resemble an earlier question with a good answer.
    """
    from fastmetrics.usage.cache_hit_rate import cache_hit_rate

    return options.analysed(cache_hit_rate, arguments, log)
