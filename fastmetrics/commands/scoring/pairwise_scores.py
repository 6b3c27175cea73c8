"""``fastmetrics pairwise-scores``: score every candidate against every reference."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Output


def pairwise_scores(
    candidates: Annotated[str, typer.Argument(help="A file with a column of answers.", show_default=False)],
    references: Annotated[str, typer.Argument(help="A file with a column of references.", show_default=False)],
    metric: Annotated[str, typer.Argument(help="The metric: chrf, 'rougeL_f1(stemmer=True)'.", show_default=False)],
    *,
    output: Output,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.scoring.pairwise_scores")],
) -> None:
    """Score every candidate against every reference.

    Write a row (candidate, reference, score) for each pair, with row numbers from 0.
    """
    scored = arguments.call()
    typer.echo(f"{scored.candidates:,} candidates × {scored.references:,} references scored: {output}")
