"""``fastmetrics validate``: compare scores with human labels."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText, names, pairs
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
    raters: Annotated[
        list[str] | None, typer.Option(help="Columns of labels, one for each person: ann,bob."), FromText(names)
    ] = None,
    on: On = None,
    metrics: OnlyMetrics = None,
    positive: Positive = None,
    thresholds: Annotated[
        list[str] | None,
        typer.Option(help="Thresholds of metrics, instead of the best: token_f1=0.5."),
        FromText(_numbers),
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
    arguments: Arguments,
) -> Any:
    """Compare every metric with human labels.

    Print correlations, ROC AUC, best threshold, intervals and agreement.
    """
    from fastmetrics.results.people.validate import validate

    return arguments.call(validate)


def _numbers(values: list[str], option: str) -> dict[str, float] | None:
    """The thresholds as numbers."""
    from fastmetrics.errors import OptionError

    texts = pairs(values, option, "METRIC=NUMBER")
    try:
        return {metric: float(text) for metric, text in texts.items()} or None
    except ValueError as error:
        raise OptionError(f"--thresholds: expected METRIC=NUMBER: {error}") from None
