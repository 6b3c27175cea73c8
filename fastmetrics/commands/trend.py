"""``fastmetrics trend``: show a metric over the runs in a folder."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options import Interval, IntervalKind, Plugins, Threads


def trend(
    folder: Annotated[
        str, typer.Argument(help="A folder of outputs of score, or its address.", metavar="FOLDER", show_default=False)
    ],
    *,
    metric: Annotated[str, typer.Option("--metric", "-m", help="The metric to show.", metavar="METRIC")],
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    interval: Interval = IntervalKind.auto,
    seed: Annotated[int, typer.Option(help="Seed of bootstrap intervals.")] = 0,
    threads: Threads = None,
    plugin: Plugins = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show the mean of a metric in each run of a folder.

    The runs come first to last, each mean with its interval.
    """
    from fastmetrics.commands.options import load_plugins
    from fastmetrics.results.trend import trend as over_runs

    load_plugins(plugin)
    found = over_runs(folder, metric, confidence=confidence, interval=interval.value, seed=seed, threads=threads)
    typer.echo(found.to_json() if as_json else str(found))
