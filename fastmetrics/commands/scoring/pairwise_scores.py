"""``fastmetrics pairwise-scores``: score every candidate against every reference."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import ColumnNames, Output, Overwrite, Threads


def pairwise_scores(
    candidates: Annotated[str, typer.Argument(help="A file with a column of answers.", show_default=False)],
    references: Annotated[str, typer.Argument(help="A file with a column of references.", show_default=False)],
    metric: Annotated[str, typer.Argument(help="The metric: chrf, 'rougeL_f1(stemmer=True)'.", show_default=False)],
    *,
    output: Output,
    columns: ColumnNames = None,
    threads: Threads = None,
    overwrite: Overwrite = False,
    arguments: Arguments,
) -> None:
    """Score every candidate against every reference.

    Write a row (candidate, reference, score) for each pair, with row numbers from 0.
    """
    from fastmetrics.scoring.pairwise_scores import pairwise_scores as score_pairs

    scored = arguments.call(score_pairs)
    typer.echo(f"{scored.candidates:,} candidates × {scored.references:,} references scored: {output}")
