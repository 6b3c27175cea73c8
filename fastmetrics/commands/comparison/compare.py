"""``fastmetrics compare``: compare the scores of systems."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.option_syntax import name_list, pairs, split
from fastmetrics.commands.options.shared_options import (
    BaselineName,
    Better,
    By,
    Cluster,
    Names,
    OnlyMetrics,
    PairedTests,
    Pairing,
    Plugins,
    Printing,
    Sequential,
    System,
    Testing,
    load_plugins,
)
from fastmetrics.commands.program.terminal import print_lines, print_pieces


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Score files, folders or addresses: the baseline first, then the others.", metavar="BASE OTHER..."
        ),
    ],
    *,
    metrics: OnlyMetrics = None,
    by: By = None,
    segments: Annotated[str | None, typer.Option(help="A file with ids and the columns of --by.")] = None,
    cluster: Cluster = None,
    tests: PairedTests = None,
    testing: Testing,
    names: Names = None,
    baseline: BaselineName = None,
    system: System = None,
    pairing: Pairing,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="Compare runs that share no rows, as independent samples.")
    ] = False,
    sequential: Sequential = False,
    margin: Annotated[
        float | None, typer.Option(help="A difference that does not matter: tests equivalence within it.")
    ] = None,
    better: Better = None,
    plugin: Plugins = None,
    printing: Printing,
) -> None:
    """Compare systems with a baseline on the same rows.

    Print differences, intervals, p values and segments.
    """
    from fastmetrics.errors import OptionError
    from fastmetrics.results.compare.compare import compare as compared

    printing.check()
    called = name_list(names, "--names")
    if called and len(called) != len(runs):
        raise OptionError(f"--names has {len(called)} names for {len(runs)} runs")
    if system is not None and len(runs) > 1:
        raise OptionError("--system needs exactly one file, which contains all systems")
    load_plugins(plugin)
    compared_runs = runs[0] if system is not None else dict(zip(called, runs, strict=True)) if called else runs
    comparison = compared(
        compared_runs,
        baseline=baseline,
        metrics=split(metrics) or None,
        by=[name_list([division], "--by") for division in by or ()] or None,
        segments=segments,
        cluster=cluster,
        tests=split(tests) or None,
        **testing.values(),
        **pairing.values(),
        system=system,
        unpaired=unpaired,
        sequential=sequential,
        margin=margin,
        better=pairs(better, "--better", "NAME=lower or NAME=higher"),
    )
    if printing.as_json:
        print_pieces(comparison.json_pieces())
    elif printing.as_latex:
        typer.echo(comparison.to_latex(), nl=False)
    else:
        print_lines(comparison.markdown_lines() if printing.as_markdown else comparison.lines())
