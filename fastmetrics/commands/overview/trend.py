"""``fastmetrics trend``: show a metric over the runs in a folder."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Folder, Plugins


def trend(
    folder: Folder,
    metric: Annotated[str, typer.Argument(help="The metric to show.", show_default=False)],
    *,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.results.summary.trend")],
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Show the mean of a metric in each run of a folder.

    The runs come first to last, each mean with its interval.
    """
    return arguments.call()
