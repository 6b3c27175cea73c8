"""``fastmetrics histograms``: how the scores of a file are distributed."""

from __future__ import annotations

from typing import Any

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Bins, OnlyMetrics, Plugins, Scores


def histograms(
    scores: Scores,
    *,
    metrics: OnlyMetrics = None,
    bins: Bins = 20,
    plugin: Plugins = None,
    as_json: AsJson = False,
    arguments: Arguments,
) -> Any:
    """Show histograms of the scores."""
    from fastmetrics.results.summary.histograms import histograms

    return arguments.call(histograms)
