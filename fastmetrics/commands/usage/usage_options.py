"""Options of the commands that analyse logs: where the figures go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Overwrite

if TYPE_CHECKING:
    from fastmetrics.tables.output.output_place import OutputPlace


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """Where the figures of a log go."""

    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the figures as JSON to this file.", metavar="PATH")
    ] = None
    overwrite: Overwrite = False
    as_json: AsJson = False

    def analysed(self, arguments: Arguments, *inputs: Any) -> Any:
        """The figures of the command's function, written to the output if there is one.

        Raises ``OutputError`` before anything is read if the output may not be written.
        """
        from fastmetrics.tables.output.write_table import write_page

        place = self.place(*inputs)
        figures = arguments.call()
        if place is not None:
            write_page(place, figures.to_json() + "\n")
        return figures

    def place(self, *inputs: Any) -> OutputPlace | None:
        """The place of the output, checked before anything is read; raises ``OutputError`` if it may not be written."""
        from fastmetrics.tables.output.write_table import page_place

        return None if self.output is None else page_place(self.output, inputs, overwrite=self.overwrite)
