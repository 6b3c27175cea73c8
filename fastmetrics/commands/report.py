"""``fastmetrics report``: scores, their texts and a comparison as one page that opens from a file."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Plugins, named_runs
from fastmetrics.commands.program.terminal import echo


def report(
    scores: Annotated[
        list[str],
        typer.Argument(help="Score files, folders or addresses; rows are shown of the first."),
    ],
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="Output page, such as report.html; with rows all, a folder.", metavar="PATH"
        ),
    ],
    arguments: Arguments,
    plugin: Plugins = None,
) -> None:
    """Write a page of charts and rows.

    It shows means, distributions, a comparison, and the rows behind them.
    """
    echo(str(arguments.call(scores=named_runs(scores, None, arguments["system"]))))
