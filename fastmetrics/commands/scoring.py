"""The commands that score: rows, pairs of texts, and rows for the time that they take."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.base.errors import OptionError
from fastmetrics.commands.options.function_parameters import Before
from fastmetrics.commands.options.option_groups import Arguments, OptionsOf
from fastmetrics.commands.options.shared_options import (
    AsJson,
    Files,
    Metrics,
    Output,
    Plugins,
    Quiet,
    Table,
    print_bad_rows,
)
from fastmetrics.commands.program.printing import print_result
from fastmetrics.commands.program.terminal import echo
from fastmetrics.engines.job import RayCluster


def score(
    table: Table,
    *,
    metrics: Metrics = None,
    arguments: Arguments,
    files: Annotated[Files, Before("threads")],
    cluster: Annotated[RayCluster, OptionsOf(RayCluster), Before("resume")],
    plugin: Plugins = None,
    quiet: Quiet = False,
) -> None:
    """Score every row of a table, and print a summary.

    Without an output, the scores are not kept.
    """
    if arguments["engine"] == "local" and cluster != RayCluster():
        raise OptionError("--workers and --address are of the engine ray; the local one has --threads")
    if arguments["engine"] == "ray":
        arguments["engine"] = cluster
    if arguments["output"] is None:
        _summarise(arguments, quiet)
        return
    scored = arguments.call()
    if quiet:
        return
    print_result(scored.summary)
    run = scored.run
    resumed = f" ({run.resumed_rows:,} of them earlier)" if run.resumed_rows else ""
    echo(f"\n{run.rows:,} rows{resumed} scored in {run.seconds['total']:.1f} s: {run.output}")
    print_bad_rows(run)


def _summarise(arguments: Arguments, quiet: bool) -> None:
    """Print the summary of scores that are deleted; raise ``OptionError`` for options of a kept output."""
    import tempfile
    from pathlib import Path

    refused = {"--resume": arguments["resume"], "--overwrite": arguments["overwrite"], "--quiet": quiet}
    refused["--on-error skip"] = arguments["files"].on_error == "skip"
    for option, is_set in refused.items():
        if is_set:
            raise OptionError(f"{option} needs --output: name the file of scores, such as scores.parquet")
    with tempfile.TemporaryDirectory() as folder:
        scored = arguments.call(output=Path(folder, "scores.parquet"))
    print_result(scored.summary)
    echo(
        f"\n{scored.run.rows:,} rows scored in {scored.run.seconds['total']:.1f} s; the scores are not kept:\n"
        "add -o scores.parquet to compare, gate or report them"
    )


def profile(
    table: Table,
    *,
    metrics: Metrics = None,
    arguments: Arguments,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Score a table and print the speed of each stage.

    Score after a warm-up, discard the scores, and print rows/s, MB/s and the time share of each stage.
    """
    return arguments.call()


def warm_up(
    *,
    metrics: Metrics = None,
    arguments: Arguments,
    plugin: Plugins = None,
) -> None:
    """Compile the kernels of metrics ahead, for containers and services.

    Print each metric, and how many kernels were compiled before it; machine code in the cache is only loaded.
    """
    made = arguments.call(progress=lambda name, compiled: typer.echo(f"{compiled:4} compiled; next: {name}", err=True))
    typer.echo(f"{made:,} kernels compiled")


def pairwise_scores(
    candidates: Annotated[str, typer.Argument(help="A file with a column of answers.", show_default=False)],
    references: Annotated[str, typer.Argument(help="A file with a column of references.", show_default=False)],
    metric: Annotated[str, typer.Argument(help="The metric: chrf, 'rougeL_f1(stemmer=True)'.", show_default=False)],
    *,
    output: Output,
    arguments: Arguments,
) -> None:
    """Score every candidate against every reference.

    Write a row (candidate, reference, score) for each pair, with row numbers from 0.
    """
    scored = arguments.call()
    echo(f"{scored.candidates:,} candidates × {scored.references:,} references scored: {output}")
