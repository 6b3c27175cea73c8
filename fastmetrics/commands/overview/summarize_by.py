"""``fastmetrics summarize-by``: means with intervals, over all rows and segments."""

from __future__ import annotations

from typing import Any

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, By, Cluster, Intervals, OnlyMetrics, Plugins, Scores


def summarize_by(
    scores: Scores,
    *,
    by: By = None,
    metrics: OnlyMetrics = None,
    cluster: Cluster = None,
    intervals: Intervals,
    plugin: Plugins = None,
    as_json: AsJson = False,
    arguments: Arguments,
) -> Any:
    """Show means with intervals, also of segments."""
    from fastmetrics.results.summary.summarize_by import summarize_by

    return arguments.call(summarize_by)
