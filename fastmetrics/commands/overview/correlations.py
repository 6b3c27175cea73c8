"""``fastmetrics correlations``: how metrics of a score file agree."""

from __future__ import annotations

from typing import Any

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, OnlyMetrics, Plugins, Scores


def correlations(
    scores: Scores,
    *,
    metrics: OnlyMetrics = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
    arguments: Arguments,
) -> Any:
    """Show correlations of the metrics of a run.

    Also show where metrics disagree.
    """
    from fastmetrics.results.summary.correlations import correlations

    return arguments.call(correlations)
