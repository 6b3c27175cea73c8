"""``fastmetrics compare``: compare the scores of systems."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import (
    BaselineName,
    Better,
    Cluster,
    Divisions,
    Names,
    OnlyMetrics,
    PairedTests,
    Plugins,
    Printing,
    RowPairs,
    System,
    Testing,
    named_runs,
)


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Score files, folders or addresses: the baseline first, then the others.", metavar="BASE OTHER..."
        ),
    ],
    *,
    metrics: OnlyMetrics = None,
    by: Divisions = None,
    segments: Annotated[str | None, typer.Option(help="A table with ids and the columns of by.")] = None,
    cluster: Cluster = None,
    tests: PairedTests = None,
    testing: Testing,
    names: Names = None,
    baseline: BaselineName = None,
    system: System = None,
    pairs: RowPairs,
    margin: Annotated[
        float | None, typer.Option(help="A difference that does not matter: tests equivalence within it.")
    ] = None,
    better: Better = None,
    plugin: Plugins = None,
    printing: Printing,
    arguments: Arguments,
) -> Any:
    """Compare systems with a baseline on the same rows.

    Print differences, intervals, p values and segments.
    """
    from fastmetrics.results.compare.compare import compare

    return arguments.call(compare, runs=named_runs(runs, names, system))
