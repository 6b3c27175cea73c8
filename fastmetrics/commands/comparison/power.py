"""``fastmetrics power``: plan how many questions a comparison needs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText
from fastmetrics.commands.options.shared_options import (
    AsJson,
    BaselineName,
    Cluster,
    On,
    OnlyMetrics,
    Plugins,
    System,
)


def power(
    pilot: Annotated[
        list[str] | None,
        typer.Argument(help="Score files of a pilot: one system, or the baseline and the other.", metavar="[PILOT...]"),
    ] = None,
    *,
    metrics: OnlyMetrics = None,
    delta: Annotated[float | None, typer.Option(help="The difference to detect; prints the questions needed.")] = None,
    n: Annotated[int | None, typer.Option("-n", "--n", help="Questions; prints the difference they detect.")] = None,
    between: Annotated[
        float | None, typer.Option(help="Variance between questions of the paired differences, instead of the pilot's.")
    ] = None,
    within: Annotated[
        list[float] | None,
        typer.Option(help="Variance of one answer within a question; twice for two systems."),
        FromText(_one_or_two),
    ] = None,
    correlation: Annotated[float, typer.Option(help="Correlation of two systems, for a pilot of one.")] = 0.0,
    repeats: Annotated[int, typer.Option(help="Answers of each system to each question.")] = 1,
    power: Annotated[float, typer.Option(help="Probability of detecting the difference.")] = 0.8,
    confidence: Annotated[float, typer.Option(help="1 minus the level of the two-sided test.")] = 0.95,
    cluster: Cluster = None,
    baseline: BaselineName = None,
    other: Annotated[str | None, typer.Option(help="The name of the other run.")] = None,
    on: On = None,
    system: System = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
    arguments: Arguments,
) -> Any:
    """Plan how many questions a comparison needs.

    The variances come from a pilot, or are given.
    """
    from fastmetrics.results.compare.power import power as plan

    return arguments.call(plan)


def _one_or_two(values: list[float], option: str) -> float | list[float] | None:
    """One variance, or those of two systems."""
    return values[0] if len(values) == 1 else values or None
