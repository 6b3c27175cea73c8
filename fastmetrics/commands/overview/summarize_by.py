"""``fastmetrics summarize-by``: means with intervals, over all rows and segments."""

from __future__ import annotations

from typing import Annotated, Any

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Plugins, Scores


def summarize_by(
    scores: Scores,
    *,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.results.summary.summarize_by")],
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Show means with intervals, also of segments."""
    return arguments.call()
