"""``fastmetrics check-dataset``: what is wrong with a data set."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.logs.log_options import (
    Languages,
    LogOptions,
    Near,
    TextSample,
)
from fastmetrics.commands.options.option_syntax import name_list
from fastmetrics.commands.options.shared_options import EmbedderName, Table, Threads


def check_dataset(
    table: Table,
    *,
    labels: Annotated[
        list[str] | None, typer.Option(help="Label columns in which equal rows must agree: verdict,...")
    ] = None,
    languages: Languages = None,
    embedder: EmbedderName = None,
    near: Near = 0.9,
    sample: TextSample = 10_000,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 1 if anything is figures.")] = False,
    options: LogOptions,
    threads: Threads = None,
) -> None:
    """Look for faults of a dataset.

    Doubled rows and ids, leaks, empty contexts, truncated answers, other languages, contradicting labels.
    """
    from fastmetrics.usage.dataset.check_dataset import check_dataset

    place = options.place(table)
    figures = check_dataset(
        table,
        labels=name_list(labels, "--labels"),
        languages=name_list(languages, "--languages"),
        embedder=embedder,
        near=near,
        sample=sample,
        threads=threads,
        **options.reading(),
    )
    options.show(figures, place)
    if strict and not figures.clean:
        raise typer.Exit(1)
