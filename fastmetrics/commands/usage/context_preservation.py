"""``fastmetrics context-preservation``: how similar successive questions of a session are."""

from __future__ import annotations

from typing import Annotated, Any

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Table
from fastmetrics.commands.usage.usage_options import LogOptions


def context_preservation(
    log: Table,
    *,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.usage.context_preservation")],
    options: LogOptions,
) -> Any:
    """Measure how similar the questions of a session are.

    The figure is the mean cosine of their embeddings.
    """
    return options.analysed(arguments, log)
