"""``fastmetrics score``: score a file of answers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from fastmetrics.engines.local import Progress


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
    with _bar(quiet) as progress:
        scored = arguments.call(score, engine=cluster if engine == "ray" else engine, progress=progress)
    if quiet:
        return
    typer.echo(str(scored.summary))
    run = scored.run
    resumed = f" ({run.resumed_rows:,} of them earlier)" if run.resumed_rows else ""
    typer.echo(f"\n{run.rows:,} rows{resumed} scored in {run.seconds['total']:.1f} s: {run.output}")
    print_bad_rows(run)


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """A progress bar on standard error, if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("scoring", total=None)

        def show(done: Progress) -> None:
            """Count rows if the files record their number, otherwise bytes."""
            by_rows = done.total_rows is not None
            elapsed = bar.tasks[0].elapsed
            speed = f"{done.rows / elapsed:,.0f} rows/s" if elapsed else ""
            bar.update(
                task,
                completed=done.rows if by_rows else done.nbytes,
                total=done.total_rows if by_rows else done.total_bytes or None,
                description=f"{done.rows:,} rows  {speed}",
            )

        yield show
