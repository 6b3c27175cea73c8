"""``fastmetrics fit``: fit a score to human labels."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments, OptionsOf
from fastmetrics.commands.options.shared_options import (
    AsJson,
    Confidence,
    EmbedderName,
    Overwrite,
    Plugins,
    Positive,
    Scoring,
    Seed,
    Table,
    Threads,
)
from fastmetrics.fitting.cut_promises import CutPromises


def fit(
    table: Table,
    *,
    label: Annotated[str, typer.Option(help="The column of labels: 0 and 1, grades or other numbers.")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="The file of the score, with the suffix .toml.", metavar="FILE")
    ] = None,
    overwrite: Overwrite = False,
    group: Annotated[
        str | None, typer.Option(help="The column whose equal values mark rows that are held out together.")
    ] = None,
    scoring: Scoring,
    embedder: EmbedderName = None,
    learner: Annotated[
        str, typer.Option(help="splines (curves of metrics), boosting (trees) or weights (a weighted mean).")
    ] = "splines",
    positive: Positive = None,
    lower_is_better: Annotated[bool, typer.Option("--lower-is-better", help="High labels are bad.")] = False,
    promises: Annotated[CutPromises, OptionsOf(CutPromises)],
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    threads: Threads = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
    arguments: Arguments,
) -> Any:
    """Fit a score to human labels.

    Print its figures on held-out rows, and write it to a file that is a metric.
    """
    from fastmetrics.fitting.fit import fit

    return arguments.call(fit)
