"""``fastmetrics histograms``: how the scores of a file are distributed."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options import AsJson, OnlyMetrics, Plugins, Scores


def histograms(
    scores: Scores,
    *,
    metrics: OnlyMetrics = None,
    bins: Annotated[int, typer.Option(help="Number of bins.")] = 20,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """Show histograms of the scores."""
    from fastmetrics.commands.options import load_plugins, split
    from fastmetrics.results.histograms import histograms

    load_plugins(plugin)
    bars = histograms(scores, metrics=split(metrics) or None, bins=bins)
    typer.echo(bars.to_json() if as_json else str(bars))
