"""``fastmetrics check``: what is wrong with a data set."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands import log_options as log


def check(
    inputs: Annotated[
        list[str], typer.Argument(help="Files, folders or globs.", metavar="INPUT...", show_default=False)
    ],
    *,
    labels: Annotated[
        list[str] | None, typer.Option(help="Columns in which rows that are alike must not differ: verdict,...")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if anything is found.")] = False,
    columns: log.ColumnNames = None,
    schema: log.Schema = None,
    format: log.Format = None,
    out: log.Out = None,
    overwrite: log.Overwrite = False,
    as_json: log.AsJson = False,
) -> None:
    """Look for doubled rows and ids, leaks, empty contexts, answers cut off and labels that contradict each other."""
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import pairs
    from fastmetrics.usage.dataset_checks import check_dataset

    log.check_out(out, overwrite)
    found = check_dataset(
        inputs, labels=names(labels, "--labels"), columns=pairs(columns), schema=schema, format=format
    )
    log.show(found, out, as_json)
    if strict and not found.clean:
        raise typer.Exit(1)
