"""``fastmetrics profile``: measure the time of each stage of scoring."""

from __future__ import annotations

from typing import Annotated, Any

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Metrics, Plugins, Table


def profile(
    table: Table,
    *,
    metrics: Metrics = None,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.scoring.profile")],
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Score a table and print the speed of each stage.

    Score after a warm-up, discard the scores, and print rows/s, MB/s and the time share of each stage.
    """
    return arguments.call()
