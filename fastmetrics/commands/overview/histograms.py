"""``fastmetrics histograms``: how the scores of a file are distributed."""

from __future__ import annotations

from typing import Annotated, Any

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Plugins, Scores


def histograms(
    scores: Scores,
    *,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.results.summary.histograms")],
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Show histograms of the scores."""
    return arguments.call()
