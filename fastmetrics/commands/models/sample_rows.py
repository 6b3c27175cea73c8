"""``fastmetrics sample-rows``: a sheet of judged rows for people to label."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Guard, Judged, On, Overwrite, Seed, guarded


def sample_rows(
    judged: Judged,
    *,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="The sheet: a file, with the format given by its suffix.", metavar="PATH"),
    ],
    n: Annotated[int, typer.Option("-n", help="Number of rows.")] = 200,
    strategy: Annotated[str, typer.Option(help="Strategy: random, stratified (by score) or disagreement.")] = "random",
    seed: Seed = 0,
    score: Annotated[str | None, typer.Option(help="The column of scores; by default the only judged column.")] = None,
    label: Annotated[str, typer.Option(help="The name of the empty column for labels.")] = "human",
    texts: Annotated[str | None, typer.Option(help="The file that was judged, for its texts.", metavar="FILE")] = None,
    on: On = None,
    overwrite: Overwrite = False,
    guard: Guard = True,
    arguments: Arguments,
) -> None:
    """Write a sheet of judged rows for people to label.

    The commands validate and judges read the sheet.
    """
    from fastmetrics.results.people.sample_rows import sample_rows
    from fastmetrics.tables.output.write_table import table_place, write_whole

    place = table_place(output, [judged, texts], overwrite=overwrite)
    sheet = arguments.call(sample_rows)
    quoted = write_whole(sheet, place, {"sample": strategy}, {"id"}, guard=guard)
    typer.echo(f"{sheet.num_rows:,} rows: {output}")
    if strategy == "disagreement":
        typer.echo("these rows were selected as difficult: their mean label does not represent the other rows")
    if quoted:
        typer.echo(guarded(quoted))
