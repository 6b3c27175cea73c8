"""``fastmetrics compare``: compare the scores of systems."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText, divisions
from fastmetrics.commands.options.shared_options import Names, OnlyMetrics, Plugins, Printing, named_runs


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Score files, folders or addresses: the baseline first, then the others.", metavar="BASE OTHER..."
        ),
    ],
    *,
    metrics: OnlyMetrics = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns whose values define segments: language,topic; compare takes several divisions of rows.",
            metavar="COLUMN,...",
        ),
        FromText(divisions),
    ] = None,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.results.compare.compare")],
    names: Names = None,
    plugin: Plugins = None,
    printing: Printing,
) -> Any:
    """Compare systems with a baseline on the same rows.

    Print differences, intervals, p values and segments.
    """
    return arguments.call(runs=named_runs(runs, names, arguments["system"]))
