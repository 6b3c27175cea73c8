"""``fastmetrics search``: nearest neighbours of vectors or texts in files."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.function_parameters import Before, ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Guard, Output, Overwrite, guarded
from fastmetrics.commands.program.terminal import print_error


def search(
    index: Annotated[
        str,
        typer.Argument(
            help="An index folder, written by the index command, or the address of a PostgreSQL database.",
            show_default=False,
        ),
    ],
    queries: Annotated[
        str,
        typer.Argument(
            help="Queries: a file, folder, glob or address of vectors or, with an embedder, of texts; or -.",
            show_default=False,
        ),
    ],
    *,
    output: Output,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.vectors.search.search")],
    recall: Annotated[
        float,
        typer.Option(help="Share of the true neighbours that an approximate index should find."),
        Before("threads"),
    ] = 0.98,
    overwrite: Overwrite = False,
    guard: Guard = True,
) -> None:
    """Find the nearest rows of an index for every query.

    The output is rankings for the retrieval metrics.
    """
    from fastmetrics.tables.output.write_table import table_place, write_whole
    from fastmetrics.vectors.search.search_files import RANKINGS

    place = table_place(output, [index, queries], overwrite=overwrite)
    place.check_types(RANKINGS)
    run = arguments.call()
    quoted = write_whole(run.table, place, run.settings, set(run.table.column_names), guard=guard)
    measured = f"recall@{arguments['k']} {run.recall:.4f} on {run.recall_sample:,} queries"
    typer.echo(f"{run.table.num_rows:,} queries ({run.method}, {run.metric}; {measured}): {place.shown}")
    if run.comparison:
        typer.echo(run.comparison)
    if run.short:
        print_error(f"{run.short:,} lists have fewer rows than the table: raise ef_search, or set iterative_scan")
    if quoted:
        typer.echo(guarded(quoted))
    if run.recall < recall and run.method != "exact":
        print_error(f"no search setting reached recall {recall:g}; use an exact index to find all neighbours")
