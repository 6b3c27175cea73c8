"""``fastmetrics domain-analysis``: what the users of a log ask."""

from __future__ import annotations

from typing import Annotated, Any

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Table, Threads
from fastmetrics.commands.usage.usage_options import LogOptions


def domain_analysis(
    log: Table,
    *,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.usage.domain.domain_analysis")],
    options: LogOptions,
    threads: Threads = None,
) -> Any:
    """Describe the questions of a log.

    Count words, answers, ratings, scripts, languages, repeats, and questions over time.
    """
    return options.analysed(arguments, log)
