"""``fastmetrics summarize``: summaries of score files."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.shared_options import AsJson, Plugins, load_plugins
from fastmetrics.commands.program.terminal import print_lines, print_pieces


def summarize(
    scores: Annotated[list[str], typer.Argument(help="Score files, folders or addresses.", metavar="SCORES...")],
    *,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """Summarise score files: means and extremes.

    The table gives mean, standard deviation and extremes, and counts the rows without a score by reason.
    """
    from fastmetrics.results.summary.summary import summarize as summarize_table

    load_plugins(plugin)
    summary = summarize_table(scores)
    print_pieces(summary.json_pieces()) if as_json else print_lines(summary.lines())
