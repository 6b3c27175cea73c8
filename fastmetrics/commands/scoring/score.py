"""``fastmetrics score``: score a file of answers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import OptionsOf
from fastmetrics.commands.options.option_syntax import name_list
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
    guarded,
    load_plugins,
)
from fastmetrics.engines.run_settings import FileSettings, RayCluster
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
    cluster: Annotated[dict[str, Any], OptionsOf(RayCluster)],
    resume: Resume = False,
    overwrite: Overwrite = False,
    name: RunName = None,
    times: Times = False,
    plugin: Plugins = None,
    quiet: Quiet = False,
) -> None:
    """Score every row of a table, and print a summary."""
    from fastmetrics.scoring.score import score as score_table

    load_plugins(plugin)
    if engine == "local" and any(value is not None for value in cluster.values()):
        raise OptionError("--workers and --address are of the engine ray; the local one has --threads")
    with _bar(quiet) as progress:
        scored = score_table(
            table,
            **scoring.values(),
            output=output,
            embedder=embedder,
            cache=cache,
            keep=name_list(keep, "--keep"),
            keep_counts=keep_counts,
            files=FileSettings(**files),
            threads=threads,
            engine=RayCluster(**cluster) if engine == "ray" else engine,
            resume=resume,
            overwrite=overwrite,
            progress=progress,
            name=name,
            times=times,
        )
    if quiet:
        return
    typer.echo(str(scored.summary))
    run = scored.run
    resumed = f" ({run.resumed_rows:,} of them earlier)" if run.resumed_rows else ""
    typer.echo(f"\n{run.rows:,} rows{resumed} scored in {run.seconds['total']:.1f} s: {run.output}")
    if run.rejects is not None:
        typer.echo(f"{run.rejected:,} rows rejected: {run.rejects}")
    if run.guarded:
        typer.echo(guarded(run.guarded))


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
