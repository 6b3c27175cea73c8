"""``fastmetrics cache-hit-rate``: what a cache of answers would have saved."""

from __future__ import annotations

from typing import Annotated, Any

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Table, Threads
from fastmetrics.commands.usage.usage_options import LogOptions


def cache_hit_rate(
    log: Table,
    *,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.usage.cache_hit_rate")],
    options: LogOptions,
    threads: Threads = None,
) -> Any:
    """Estimate what a cache of answers would have saved.

    Count the questions that resemble an earlier question with a good answer.
    """
    return options.analysed(arguments, log)
