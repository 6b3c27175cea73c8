"""``fastmetrics summarize``: what files of scores say, in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fastmetrics.commands.options import Plugins

if TYPE_CHECKING:
    from fastmetrics.results.interval_summary import IntervalSummary
    from fastmetrics.results.summary import Summary


def summarize(
    scores: Annotated[list[str], typer.Argument(help="Files or folders of scores, or addresses.", metavar="SCORES...")],
    *,
    by: Annotated[
        list[str] | None, typer.Option(help="Columns, kept by the run, whose values cut the rows: language,topic.")
    ] = None,
    ci: Annotated[bool, typer.Option("--ci", help="Show means with their bootstrap intervals.")] = False,
    cluster: Annotated[
        str | None, typer.Option(help="The column with the session or document of a row, for --by and --ci.")
    ] = None,
    plugin: Plugins = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Summarise files of scores: mean, deviation, extremes, and how many rows have no score and why."""
    from fastmetrics.commands.options import columns, load_plugins
    from fastmetrics.errors import OptionError
    from fastmetrics.results.interval_summary import summarize_by
    from fastmetrics.results.score_files import summarize_files

    load_plugins(plugin)
    found: Summary | IntervalSummary
    if by or ci or cluster:
        if len(scores) > 1:
            raise OptionError("--by, --ci and --cluster take one file of scores")
        found = summarize_by(scores[0], columns(by, "--by"), cluster=cluster)
    else:
        found = summarize_files(scores)
    typer.echo(found.to_json() if as_json else str(found))
