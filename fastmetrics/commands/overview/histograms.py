"""``fastmetrics histograms``: how the scores of a file are distributed."""

from __future__ import annotations

import typer

from fastmetrics.commands.options.option_syntax import split
from fastmetrics.commands.options.shared_options import AsJson, Bins, OnlyMetrics, Plugins, Scores, load_plugins


def histograms(
    scores: Scores,
    *,
    metrics: OnlyMetrics = None,
    bins: Bins = 20,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """Show histograms of the scores."""
    from fastmetrics.results.summary.histograms import histograms

    load_plugins(plugin)
    bars = histograms(scores, metrics=split(metrics) or None, bins=bins)
    typer.echo(bars.to_json() if as_json else str(bars))
