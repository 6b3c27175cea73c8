"""``fastmetrics validate``: compare scores with human labels."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from fastmetrics.commands.options import Plugins, Threads


class AssociationInterval(StrEnum):
    """Kinds of intervals of correlations, AUC and F1."""

    auto = "auto"
    percentile = "percentile"


def validate(
    scores: Annotated[str, typer.Argument(help="The score file or its address.", show_default=False)],
    labels: Annotated[str, typer.Argument(help="The file of human labels.", show_default=False)],
    *,
    label: Annotated[str | None, typer.Option(help="The column of labels; by default the only numeric column.")] = None,
    raters: Annotated[list[str] | None, typer.Option(help="Columns of labels, one for each person: ann,bob.")] = None,
    on: Annotated[
        str | None, typer.Option(help="The column that pairs the rows; by default id, otherwise the position.")
    ] = None,
    metrics: Annotated[
        list[str] | None, typer.Option("--metrics", "-m", help="Only these metrics: token_f1,jaccard.")
    ] = None,
    positive: Annotated[float | None, typer.Option(help="Labels of at least this value are positive.")] = None,
    thresholds: Annotated[
        list[str] | None, typer.Option(help="Thresholds of metrics, instead of the best: token_f1=0.5.")
    ] = None,
    interval: Annotated[
        AssociationInterval, typer.Option(help="Kind of the intervals; percentile is that of the bootstrap.")
    ] = AssociationInterval.auto,
    resamples: Annotated[int, typer.Option(min=1, help="Samples for each bootstrap interval.")] = 2000,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    cluster: Annotated[
        str | None,
        typer.Option(help="The column of labels or scores with the group of each row: session, document, question."),
    ] = None,
    better: Annotated[
        list[str] | None,
        typer.Option(help="Which direction is better, of scores and labels: my_score=lower,hallucinated=lower."),
    ] = None,
    plugin: Plugins = None,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Compare every metric with human labels.

    Print correlations, ROC AUC, best threshold, intervals and agreement.
    """
    from rich.console import Console

    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import load_plugins, pairs, split
    from fastmetrics.results.validation import validate as hold

    load_plugins(plugin)
    found = hold(
        scores,
        labels,
        label=label,
        raters=names(raters, "--raters"),
        on=on,
        metrics=split(metrics) or None,
        positive=positive,
        thresholds=_numbers(pairs(thresholds, "--thresholds", "METRIC=NUMBER")) or None,
        interval=interval.value,
        resamples=resamples,
        confidence=confidence,
        seed=seed,
        threads=threads,
        cluster=cluster,
        better=pairs(better, "--better", "NAME=lower or NAME=higher"),
    )
    console = Console()
    if as_json:
        typer.echo(found.to_json())
    elif console.is_terminal:
        console.print(found)
    else:
        typer.echo(str(found))


def _numbers(texts: dict[str, str]) -> dict[str, float]:
    """The thresholds as numbers."""
    from fastmetrics.errors import OptionError

    try:
        return {metric: float(text) for metric, text in texts.items()}
    except ValueError as error:
        raise OptionError(f"--thresholds: expected METRIC=NUMBER: {error}") from None
