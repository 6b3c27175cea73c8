"""``fastmetrics power``: plan how many questions a comparison needs."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.option_syntax import split
from fastmetrics.commands.options.shared_options import (
    AsJson,
    BaselineName,
    Cluster,
    On,
    OnlyMetrics,
    Plugins,
    System,
    load_plugins,
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
        list[float] | None, typer.Option(help="Variance of one answer within a question; twice for two systems.")
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
) -> None:
    """Plan how many questions a comparison needs.

    The variances come from a pilot, or are given.
    """
    from fastmetrics.results.compare.power import power as planned

    load_plugins(plugin)
    report = planned(
        (pilot[0] if system is not None else pilot) if pilot else None,
        metrics=split(metrics) or None,
        delta=delta,
        n=n,
        between=between,
        within=None if not within else within[0] if len(within) == 1 else within,
        correlation=correlation,
        repeats=repeats,
        power=power,
        confidence=confidence,
        cluster=cluster,
        baseline=baseline,
        other=other,
        on=on,
        system=system,
    )
    typer.echo(report.to_json() if as_json else str(report))
