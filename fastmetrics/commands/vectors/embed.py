"""``fastmetrics embed``: compute the embeddings of a file of text."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.option_syntax import name_list, pairs
from fastmetrics.commands.options.shared_options import (
    Cache,
    ColumnNames,
    EmbedderName,
    Files,
    Keep,
    Output,
    Overwrite,
    Resume,
    Table,
    guarded,
)
from fastmetrics.engines.run_settings import FileSettings


def embed(
    table: Table,
    *,
    output: Output,
    of: Annotated[
        list[str] | None,
        typer.Option(help="Columns of text. Default: those of question, answer and reference that exist."),
    ] = None,
    embedder: EmbedderName = "wordllama",
    cache: Cache = None,
    keep: Keep = None,
    columns: ColumnNames = None,
    files: Files,
    resume: Resume = False,
    overwrite: Overwrite = False,
) -> None:
    """Embed columns of text once.

    Metrics, topics and caches read the embeddings.
    """
    from fastmetrics.derive.embed import embed as embed_table
    from fastmetrics.vectors.embedding.embedder import Embedder

    done = embed_table(
        table,
        Embedder(embedder or "wordllama", cache=cache),
        name_list(of, "--of"),
        output=output,
        columns=pairs(columns),
        keep=None if keep is None else name_list(keep, "--keep"),
        files=FileSettings(**files),
        resume=resume,
        overwrite=overwrite,
    )
    run = done.run
    counts = ", ".join(f"{count:,} in {name}" for name, count in done.embedded.items())
    typer.echo(f"{run.rows:,} rows embedded in {run.seconds['total']:.1f} s: {run.output}\n{counts}")
    for note in run.notes:
        typer.echo(note)
    if run.rejects is not None:
        typer.echo(f"{run.rejected:,} rows rejected: {run.rejects}")
    if run.guarded:
        typer.echo(guarded(run.guarded))
