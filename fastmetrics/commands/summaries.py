"""The commands that summarise scores: means, intervals, correlations and histograms."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Plugins, Runs, Scores


def summarize(
    scores: Annotated[list[str], typer.Argument(help="Score files, folders or addresses.", metavar="SCORES...")],
    *,
    plugin: Plugins = None,
    as_json: AsJson = False,
    arguments: Arguments,
) -> Any:
    """Summarise score files: means and extremes.

    The table gives mean, standard deviation and extremes, and counts the rows without a score by reason.
    """
    from fastmetrics.results.summary import summarize

    return arguments.call(summarize)


def summarize_by(
    scores: Scores,
    *,
    arguments: Arguments,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Show means with intervals, also of segments."""
    return arguments.call()


def side_by_side(runs: Runs, *, plugin: Plugins = None, as_json: AsJson = False, arguments: Arguments) -> Any:
    """Show several runs side by side.

    The table has one line for each metric and one column of means for each run.
    """
    from fastmetrics.results.summary import side_by_side

    return arguments.call(side_by_side)


def primary_table(runs: Runs, *, plugin: Plugins = None, as_json: AsJson = False, arguments: Arguments) -> Any:
    """Show the primary figures of each run.

    They are N, Faithfulness, Overlap, F1, Tokens, Latency, Abstain Rate and Avg EM.
    """
    from fastmetrics.results.primary_table import primary_table

    return arguments.call(primary_table)


def correlations(
    scores: Scores,
    *,
    arguments: Arguments,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Show correlations of the metrics of a run.

    Also show where metrics disagree.
    """
    return arguments.call()


def histograms(
    scores: Scores,
    *,
    arguments: Arguments,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Show histograms of the scores."""
    return arguments.call()
