"""``fastmetrics fit``: fit a score to human labels."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.function_parameters import Before, ParametersOf
from fastmetrics.commands.options.option_groups import Arguments, OptionsOf
from fastmetrics.commands.options.shared_options import AsJson, Plugins, Table
from fastmetrics.fitting.cut_promises import CutPromises


def fit(
    table: Table,
    *,
    label: Annotated[str, typer.Option(help="The column of labels: 0 and 1, grades or other numbers.")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="The file of the score, with the suffix .toml.", metavar="FILE")
    ] = None,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.fitting.fit")],
    promises: Annotated[CutPromises, OptionsOf(CutPromises), Before("confidence")],
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Fit a score to human labels.

    Print its figures on held-out rows, and write it to a file that is a metric.
    """
    return arguments.call()
