"""``fastmetrics validate``: compare scores with human labels."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from fastmetrics.commands.options.option_syntax import name_list, pairs, split
from fastmetrics.commands.options.shared_options import (
    INTERVAL,
    AsJson,
    Better,
    Cluster,
    Confidence,
    Label,
    On,
    OnlyMetrics,
    Plugins,
    Positive,
    Scores,
    Seed,
    Threads,
    load_plugins,
)


class AssociationInterval(StrEnum):
    """Kinds of intervals of correlations, AUC and F1."""

    auto = "auto"
    percentile = "percentile"


def validate(
    scores: Scores,
    labels: Annotated[str, typer.Argument(help="The file of human labels.", show_default=False)],
    *,
    label: Label = None,
    raters: Annotated[list[str] | None, typer.Option(help="Columns of labels, one for each person: ann,bob.")] = None,
    on: On = None,
    metrics: OnlyMetrics = None,
    positive: Positive = None,
    thresholds: Annotated[
        list[str] | None, typer.Option(help="Thresholds of metrics, instead of the best: token_f1=0.5.")
    ] = None,
    interval: Annotated[AssociationInterval, typer.Option(help=INTERVAL)] = AssociationInterval.auto,
    resamples: Annotated[int, typer.Option(min=1, help="Samples for each bootstrap interval.")] = 2000,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    cluster: Cluster = None,
    better: Better = None,
    plugin: Plugins = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Compare every metric with human labels.

    Print correlations, ROC AUC, best threshold, intervals and agreement.
    """
    from rich.console import Console

    from fastmetrics.results.people.validate import validate as hold

    load_plugins(plugin)
    validation = hold(
        scores,
        labels,
        label=label,
        raters=name_list(raters, "--raters"),
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
        typer.echo(validation.to_json())
    elif console.is_terminal:
        console.print(validation)
    else:
        typer.echo(str(validation))


def _numbers(texts: dict[str, str]) -> dict[str, float]:
    """The thresholds as numbers."""
    from fastmetrics.errors import OptionError

    try:
        return {metric: float(text) for metric, text in texts.items()}
    except ValueError as error:
        raise OptionError(f"--thresholds: expected METRIC=NUMBER: {error}") from None
