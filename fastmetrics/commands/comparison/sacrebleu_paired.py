"""``fastmetrics sacrebleu-paired``: sacreBLEU's paired tests on score files with counts."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, AsMarkdown, Names, named_runs


def sacrebleu_paired(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Score files written with --keep-counts: the baseline first, then the others.", metavar="BASE OTHER..."
        ),
    ],
    *,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.results.compare.sacrebleu_paired")],
    names: Names = None,
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
) -> Any:
    """Print the numbers of sacreBLEU's paired tests.

    The numbers of --paired-bs and --paired-ar are the same, bit by bit.
    """
    return arguments.call(runs=named_runs(runs, names, arguments["system"]))
