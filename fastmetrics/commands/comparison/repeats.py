"""``fastmetrics repeats``: variance between and within questions, pass@k and pass^k of repeated answers."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText, as_given
from fastmetrics.commands.options.shared_options import AsJson, OnlyMetrics, Plugins


def repeats(
    scores: Annotated[
        str, typer.Argument(help="A score file, folder or address with several answers to each question.")
    ],
    *,
    metrics: OnlyMetrics = None,
    k: Annotated[
        list[int] | None,
        typer.Option("-k", "--k", help="Numbers of answers for pass@k and pass^k; repeatable."),
        FromText(as_given),
    ] = None,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.results.summary.repeats")],
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Measure how much repeated answers vary.

    Print the variance between and within questions, pass@k and pass^k.
    """
    return arguments.call()
