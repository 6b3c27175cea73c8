"""``fastmetrics correlations``: how metrics of a score file agree."""

from __future__ import annotations

from typing import Annotated, Any

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Plugins, Scores


def correlations(
    scores: Scores,
    *,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.results.summary.correlations")],
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Show correlations of the metrics of a run.

    Also show where metrics disagree.
    """
    return arguments.call()
