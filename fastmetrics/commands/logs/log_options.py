"""Options of the commands that analyse logs: the log and how it is read, and where the figures go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from fastmetrics.commands.options.option_syntax import pairs
from fastmetrics.commands.options.shared_options import AsJson, ColumnNames, Format, Overwrite, Schema

if TYPE_CHECKING:
    from fastmetrics.tables.output.output_place import OutputPlace

AverageScores = Annotated[
    list[str] | None, typer.Option("--scores", help="Numeric columns to average: token_f1,latency_ms.")
]
Positions = Annotated[int, typer.Option("-k", help="Positions of each ranking to count.")]
Near = Annotated[float, typer.Option("--near", help="Minimum cosine of near duplicates.")]
Languages = Annotated[
    list[str] | None,
    typer.Option("--languages", help="Detect the languages of texts, among these: en,ru,de."),
]
TextSample = Annotated[
    int, typer.Option("--sample", help="Rows or distinct questions sampled for languages and near duplicates.")
]
Chunks = Annotated[
    str | None,
    typer.Option("--chunks", help="Table of all chunks, also those never retrieved, with their sources."),
]
ChunkColumn = Annotated[
    str | None, typer.Option("--chunk-column", help="Column of chunk ids in --chunks; by default chunk_id or id.")
]


class Figures(Protocol):
    """The interface of a report on a log."""

    def to_json(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """How a log is read, and where its figures go."""

    columns: ColumnNames = None
    schema: Schema = None
    format: Format = None
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the figures as JSON to this file.", metavar="PATH")
    ] = None
    overwrite: Overwrite = False
    as_json: AsJson = False

    def reading(self) -> dict[str, Any]:
        """The arguments for reading the log."""
        return {"columns": pairs(self.columns), "schema": self.schema, "format": self.format}

    def place(self, *inputs: Any) -> OutputPlace | None:
        """The place of the output, checked before anything is read; raises ``OutputError`` if it may not be written."""
        from fastmetrics.tables.output.write_table import page_place

        return None if self.output is None else page_place(self.output, inputs, overwrite=self.overwrite)

    def show(self, figures: Figures, place: OutputPlace | None) -> None:
        """Write the figures to a file, and print them."""
        from fastmetrics.tables.output.write_table import write_page

        if place is not None:
            write_page(place, figures.to_json() + "\n")
        typer.echo(figures.to_json() if self.as_json else str(figures))
