"""``fastmetrics correlations``: how metrics of a score file agree."""

from __future__ import annotations

import typer

from fastmetrics.commands.options.option_syntax import split
from fastmetrics.commands.options.shared_options import AsJson, OnlyMetrics, Plugins, Scores, load_plugins


def correlations(
    scores: Scores, *, metrics: OnlyMetrics = None, plugin: Plugins = None, as_json: AsJson = False
) -> None:
    """Show correlations of the metrics of a run.

    Also show where metrics disagree.
    """
    from fastmetrics.results.summary.correlations import correlations

    load_plugins(plugin)
    matrix = correlations(scores, metrics=split(metrics) or None)
    typer.echo(matrix.to_json() if as_json else str(matrix))
