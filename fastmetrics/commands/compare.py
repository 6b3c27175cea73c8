"""``fastmetrics compare``: compare the scores of systems."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options import (
    AllowDifferences,
    AsJson,
    AsMarkdown,
    BaselineName,
    Better,
    Bootstrap,
    ByPosition,
    Cluster,
    Confidence,
    Corrected,
    Correction,
    Interval,
    IntervalKind,
    Names,
    On,
    OnlyMetrics,
    Plugins,
    Resamples,
    Seed,
    System,
    Threads,
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
    by: Annotated[
        list[str] | None,
        typer.Option(help="Columns whose values define segments; repeat for another division: --by a,b --by c."),
    ] = None,
    segments: Annotated[str | None, typer.Option(help="A file with ids and the columns of --by.")] = None,
    cluster: Cluster = None,
    tests: Annotated[
        list[str] | None,
        typer.Option(
            "--tests",
            help="fisher (the default), t, mcnemar, wilcoxon, sequential; for --unpaired permutation, welch.",
        ),
    ] = None,
    correction: Corrected = Correction.holm,
    resamples: Resamples = 10_000,
    bootstrap: Bootstrap = 2_000,
    confidence: Confidence = 0.95,
    interval: Interval = IntervalKind.auto,
    names: Names = None,
    baseline: BaselineName = None,
    system: System = None,
    on: On = None,
    by_position: ByPosition = False,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="Compare runs that share no rows, as independent samples.")
    ] = False,
    sequential: Annotated[
        bool, typer.Option("--sequential", help="Interval and p that hold at every look while rows are appended.")
    ] = False,
    margin: Annotated[
        float | None, typer.Option(help="A difference that does not matter: tests equivalence within it.")
    ] = None,
    better: Better = None,
    allow_differences: AllowDifferences = False,
    seed: Seed = 0,
    threads: Threads = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print a table of systems and metrics in LaTeX.")] = False,
) -> None:
    """Compare systems with a baseline on the same rows.

    Print differences, intervals, p values and segments.
    """
    from fastmetrics.commands.options import columns, load_plugins, pairs, split
    from fastmetrics.commands.terminal import print_lines, print_pieces
    from fastmetrics.errors import OptionError
    from fastmetrics.results.comparison import compare as compared

    if as_json + as_markdown + as_latex > 1:
        raise OptionError("choose one of --json, --markdown and --latex")
    called = columns(names, "--names")
    if called and len(called) != len(runs):
        raise OptionError(f"--names has {len(called)} names for {len(runs)} runs")
    if system is not None and len(runs) > 1:
        raise OptionError("--system needs exactly one file, which contains all systems")
    load_plugins(plugin)
    given = runs[0] if system is not None else dict(zip(called, runs, strict=True)) if called else runs
    found = compared(
        given,
        baseline=baseline,
        metrics=split(metrics) or None,
        by=[columns([one], "--by") for one in by or ()] or None,
        segments=segments,
        cluster=cluster,
        tests=split(tests) or None,
        correction=correction.value,
        resamples=resamples,
        bootstrap=bootstrap,
        confidence=confidence,
        interval=interval.value,
        system=system,
        on=on,
        by_position=by_position,
        unpaired=unpaired,
        sequential=sequential,
        margin=margin,
        better=pairs(better, "--better", "NAME=lower or NAME=higher"),
        allow_differences=allow_differences,
        seed=seed,
        threads=threads,
    )
    if as_json:
        print_pieces(found.json_pieces())
    elif as_latex:
        typer.echo(found.to_latex(), nl=False)
    else:
        print_lines(found.markdown_lines() if as_markdown else found.lines())
