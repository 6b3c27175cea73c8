"""``fastmetrics check-dataset``: what is wrong with a data set."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText, names
from fastmetrics.commands.options.shared_options import EmbedderName, Table, Threads
from fastmetrics.commands.program.printing import ResultOfCheck
from fastmetrics.commands.usage.usage_options import (
    Languages,
    LogOptions,
    Near,
    TextSample,
)


def check_dataset(
    table: Table,
    *,
    labels: Annotated[
        list[str] | None,
        typer.Option(help="Label columns in which equal rows must agree: verdict,..."),
        FromText(names),
    ] = None,
    languages: Languages = None,
    embedder: EmbedderName = None,
    near: Near = 0.9,
    sample: TextSample = 10_000,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 1 if anything is figures.")] = False,
    options: LogOptions,
    threads: Threads = None,
    arguments: Arguments,
) -> Any:
    """Look for faults of a dataset.

    Doubled rows and ids, leaks, empty contexts, truncated answers, other languages, contradicting labels.
    """
    from fastmetrics.usage.dataset.check_dataset import check_dataset

    figures = options.analysed(check_dataset, arguments, table)
    return ResultOfCheck(figures, figures.clean or not strict)
