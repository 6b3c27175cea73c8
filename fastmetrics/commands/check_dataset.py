"""``fastmetrics check-dataset``: what is wrong with a data set."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands import log_options
from fastmetrics.commands.options import Threads


def check_dataset(
    table: Annotated[
        list[str], typer.Argument(help="Files, folders or globs.", metavar="INPUT...", show_default=False)
    ],
    *,
    labels: Annotated[
        list[str] | None, typer.Option(help="Label columns in which equal rows must agree: verdict,...")
    ] = None,
    languages: Annotated[
        list[str] | None, typer.Option(help="Compare the languages of question and answer, among these: en,ru.")
    ] = None,
    embedder: log_options.Embedder = None,
    near: Annotated[float, typer.Option(help="Minimum cosine of near duplicates.")] = 0.9,
    sample: Annotated[int, typer.Option(help="Rows sampled for languages and near duplicates.")] = 10_000,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 1 if anything is found.")] = False,
    columns: log_options.ColumnNames = None,
    schema: log_options.Schema = None,
    format: log_options.Format = None,
    output: log_options.Output = None,
    overwrite: log_options.Overwrite = False,
    threads: Threads = None,
    as_json: log_options.AsJson = False,
) -> None:
    """Look for faults of a dataset.

    Doubled rows and ids, leaks, empty contexts, truncated answers, other languages, contradicting labels.
    """
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import pairs
    from fastmetrics.usage.dataset.check_dataset import check_dataset

    place = log_options.output_place(output, table, overwrite=overwrite)
    found = check_dataset(
        table,
        labels=names(labels, "--labels"),
        languages=names(languages, "--languages"),
        embedder=embedder,
        near=near,
        sample=sample,
        columns=pairs(columns),
        schema=schema,
        format=format,
        threads=threads,
    )
    log_options.show(found, place, as_json)
    if strict and not found.clean:
        raise typer.Exit(1)
