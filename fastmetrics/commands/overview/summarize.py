"""``fastmetrics summarize``: summaries of score files."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Plugins


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
    from fastmetrics.results.summary.summary import summarize

    return arguments.call(summarize)
