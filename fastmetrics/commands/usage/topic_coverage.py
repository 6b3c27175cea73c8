"""``fastmetrics topic-coverage``: what a log's questions are about, and the gaps of the knowledge base."""

from __future__ import annotations

from typing import Annotated, Any

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Table, Threads
from fastmetrics.commands.usage.usage_options import LogOptions


def topic_coverage(
    log: Table,
    *,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.usage.topics.topic_coverage")],
    options: LogOptions,
    threads: Threads = None,
) -> Any:
    """Find topics of questions, and gaps of knowledge.

    Print what the knowledge base has on each topic.
    """
    return options.analysed(arguments, log, arguments["chunks"])
