"""Options of the commands that analyse logs: the log and how it is read, and where the figures go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText, names
from fastmetrics.commands.options.shared_options import AsJson, ColumnNames, Format, Overwrite, Schema

if TYPE_CHECKING:
    from fastmetrics.tables.output.output_place import OutputPlace

AverageScores = Annotated[
    list[str] | None, typer.Option("--scores", help="Numeric columns to average: token_f1,latency_ms."), FromText(names)
]
Positions = Annotated[int, typer.Option("-k", help="Positions of each ranking to count.")]
Near = Annotated[float, typer.Option("--near", help="Minimum cosine of near duplicates.")]
Languages = Annotated[
    list[str] | None,
    typer.Option("--languages", help="Detect the languages of texts, among these: en,ru,de."),
    FromText(names),
]
TextSample = Annotated[
    int, typer.Option("--sample", help="Rows or distinct questions sampled for languages and near duplicates.")
]
Chunks = Annotated[
    str | None,
    typer.Option("--chunks", help="Table of all chunks, also those never retrieved, with their sources."),
]
ChunkColumn = Annotated[
    str | None,
    typer.Option("--chunk-column", help="Column of chunk ids in the table of chunks; by default chunk_id or id."),
]


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

    def analysed(self, function: Callable[..., Any], arguments: Arguments, *inputs: Any) -> Any:
        """The figures of a function, written to the output if there is one.

        Raises ``OutputError`` before anything is read if the output may not be written.
        """
        from fastmetrics.tables.output.write_table import write_page

        place = self.place(*inputs)
        figures = arguments.call(function)
        if place is not None:
            write_page(place, figures.to_json() + "\n")
        return figures

    def place(self, *inputs: Any) -> OutputPlace | None:
        """The place of the output, checked before anything is read; raises ``OutputError`` if it may not be written."""
        from fastmetrics.tables.output.write_table import page_place

        return None if self.output is None else page_place(self.output, inputs, overwrite=self.overwrite)
