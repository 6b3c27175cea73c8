"""``fastmetrics score``: score a file of answers."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.function_parameters import Before, ParametersOf
from fastmetrics.commands.options.option_groups import Arguments, OptionsOf
from fastmetrics.commands.options.shared_options import (
    Files,
    Metrics,
    OutputIfAny,
    Plugins,
    Quiet,
    Table,
    print_bad_rows,
)
from fastmetrics.commands.program.printing import print_result
from fastmetrics.engines.run_settings import RayCluster
from fastmetrics.errors import OptionError


def score(
    table: Table,
    *,
    output: OutputIfAny = None,
    metrics: Metrics = None,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.scoring.score")],
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
    if output is None:
        _summarise(arguments, quiet)
        return
    scored = arguments.call()
    if quiet:
        return
    print_result(scored.summary)
    run = scored.run
    resumed = f" ({run.resumed_rows:,} of them earlier)" if run.resumed_rows else ""
    typer.echo(f"\n{run.rows:,} rows{resumed} scored in {run.seconds['total']:.1f} s: {run.output}")
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
    typer.echo(
        f"\n{scored.run.rows:,} rows scored in {scored.run.seconds['total']:.1f} s; the scores are not kept:\n"
        "add -o scores.parquet to compare, gate or report them"
    )
