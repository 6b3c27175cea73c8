"""``fastmetrics score``: score a file of answers."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.option_groups import Arguments, OptionsOf
from fastmetrics.commands.options.shared_options import (
    Cache,
    EmbedderName,
    Files,
    Keep,
    Output,
    Overwrite,
    Plugins,
    Quiet,
    Resume,
    RunName,
    Scoring,
    Table,
    Threads,
    Times,
    print_bad_rows,
)
from fastmetrics.commands.program.numba_loading import load_numba
from fastmetrics.engines.run_settings import RayCluster
from fastmetrics.errors import OptionError


def score(
    table: Table,
    *,
    output: Output,
    scoring: Scoring,
    embedder: EmbedderName = None,
    cache: Cache = None,
    keep: Keep = None,
    keep_counts: Annotated[
        bool, typer.Option("--keep-counts", help="Store each row's counts for corpus metrics, for compare.")
    ] = False,
    files: Files,
    threads: Threads = None,
    engine: Annotated[
        str, typer.Option(help="local (threads of this process) or ray (processes of a Ray cluster).")
    ] = "local",
    cluster: Annotated[RayCluster, OptionsOf(RayCluster)],
    resume: Resume = False,
    overwrite: Overwrite = False,
    name: RunName = None,
    times: Times = False,
    plugin: Plugins = None,
    quiet: Quiet = False,
    arguments: Arguments,
) -> None:
    """Score every row of a table, and print a summary."""
    load_numba()
    from fastmetrics.scoring.score import score

    if engine == "local" and cluster != RayCluster():
        raise OptionError("--workers and --address are of the engine ray; the local one has --threads")
    scored = arguments.call(score, engine=cluster if engine == "ray" else engine)
    if quiet:
        return
    typer.echo(str(scored.summary))
    run = scored.run
    resumed = f" ({run.resumed_rows:,} of them earlier)" if run.resumed_rows else ""
    typer.echo(f"\n{run.rows:,} rows{resumed} scored in {run.seconds['total']:.1f} s: {run.output}")
    print_bad_rows(run)
