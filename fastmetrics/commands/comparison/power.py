"""``fastmetrics power``: plan how many questions a comparison needs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.function_parameters import Before, ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText
from fastmetrics.commands.options.shared_options import AsJson, Plugins


def power(
    pilot: Annotated[
        list[str] | None,
        typer.Argument(help="Score files of a pilot: one system, or the baseline and the other.", metavar="[PILOT...]"),
    ] = None,
    *,
    n: Annotated[
        int | None, typer.Option("-n", "--n", help="Questions; prints the difference they detect."), Before("between")
    ] = None,
    within: Annotated[
        list[float] | None,
        typer.Option(help="Variance of one answer within a question; twice for two systems."),
        FromText(_one_or_two),
        Before("correlation"),
    ] = None,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.results.compare.power")],
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Plan how many questions a comparison needs.

    The variances come from a pilot, or are given.
    """
    return arguments.call()


def _one_or_two(values: list[float], option: str) -> float | list[float] | None:
    """One variance, or those of two systems."""
    return values[0] if len(values) == 1 else values or None
