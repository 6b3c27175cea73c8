"""``fastmetrics sample-rows``: a sheet of judged rows for people to label."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.function_parameters import Before, ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Guard, Judged, Overwrite, guarded


def sample_rows(
    judged: Judged,
    *,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="The sheet: a file, with the format given by its suffix.", metavar="PATH"),
    ],
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.results.people.sample_rows")],
    texts: Annotated[
        str | None, typer.Option(help="The file that was judged, for its texts.", metavar="FILE"), Before("on")
    ] = None,
    overwrite: Overwrite = False,
    guard: Guard = True,
) -> None:
    """Write a sheet of judged rows for people to label.

    The commands validate and judges read the sheet.
    """
    from fastmetrics.tables.output.write_table import table_place, write_whole

    place = table_place(output, [judged, texts], overwrite=overwrite)
    sheet = arguments.call()
    quoted = write_whole(sheet, place, {"sample": arguments["strategy"]}, {"id"}, guard=guard)
    typer.echo(f"{sheet.num_rows:,} rows: {output}")
    if arguments["strategy"] == "disagreement":
        typer.echo("these rows were selected as difficult: their mean label does not represent the other rows")
    if quoted:
        typer.echo(guarded(quoted))
