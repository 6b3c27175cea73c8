"""``fastmetrics embed``: compute the embeddings of a file of text."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText, names
from fastmetrics.commands.options.shared_options import EmbedderName, Files, Output, Table, print_bad_rows


def embed(
    table: Table,
    *,
    output: Output,
    of: Annotated[
        list[str] | None,
        typer.Option(help="Columns of text. Default: those of question, answer and reference that exist."),
        FromText(names),
    ] = None,
    embedder: EmbedderName = "wordllama",
    cache: Annotated[
        str | None, typer.Option(help="A folder that stores embeddings for reuse.", metavar="FOLDER")
    ] = None,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.derive.embed")],
    files: Files,
) -> None:
    """Embed columns of text once.

    Metrics, topics and caches read the embeddings.
    """
    from fastmetrics.vectors.embedding.embedder import Embedder

    done = arguments.call(embedder=Embedder(embedder or "wordllama", cache=cache))
    run = done.run
    counts = ", ".join(f"{count:,} in {name}" for name, count in done.embedded.items())
    typer.echo(f"{run.rows:,} rows embedded in {run.seconds['total']:.1f} s: {run.output}\n{counts}")
    for note in run.notes:
        typer.echo(note)
    print_bad_rows(run)
