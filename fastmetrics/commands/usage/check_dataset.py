"""``fastmetrics check-dataset``: what is wrong with a data set."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.function_parameters import Before, ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Table, Threads
from fastmetrics.commands.program.printing import ResultOfCheck
from fastmetrics.commands.usage.usage_options import LogOptions


def check_dataset(
    table: Table,
    *,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.usage.dataset.check_dataset")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 if anything is figures."), Before("columns")
    ] = False,
    options: LogOptions,
    threads: Threads = None,
) -> Any:
    """Look for faults of a dataset.

    Doubled rows and ids, leaks, empty contexts, truncated answers, other languages, contradicting labels.
    """
    figures = options.analysed(arguments, table)
    return ResultOfCheck(figures, figures.clean or not strict)
