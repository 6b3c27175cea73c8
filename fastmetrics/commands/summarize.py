"""``fastmetrics summarize``: what files of scores say, in one table."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options import Plugins


def summarize(
    scores: Annotated[list[str], typer.Argument(help="Files or folders of scores, or addresses.", metavar="SCORES...")],
    *,
    plugin: Plugins = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Summarise files of scores: mean, deviation, extremes, and how many rows have no score and why."""
    from fastmetrics.commands.options import load_plugins
    from fastmetrics.results.score_files import summarize_files

    load_plugins(plugin)
    found = summarize_files(scores)
    typer.echo(found.to_json() if as_json else str(found))
