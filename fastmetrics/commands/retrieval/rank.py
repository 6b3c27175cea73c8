"""``fastmetrics rank``: evaluate rankings against judgements."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Guard, Overwrite, Threads
from fastmetrics.commands.retrieval.ranking_options import (
    MISSING,
    Measures,
    Missing,
    RankingEvaluation,
    RankingsAndQrels,
)


def rank(
    rankings: RankingsAndQrels,
    *,
    measures: Measures = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the values of each query to this file.", metavar="PATH")
    ] = None,
    evaluation: RankingEvaluation,
    missing: Annotated[
        Missing | None,
        typer.Option(help=MISSING),
    ] = None,
    threads: Threads = None,
    overwrite: Overwrite = False,
    guard: Guard = True,
    as_json: AsJson = False,
    arguments: Arguments,
) -> Any:
    """Evaluate rankings like trec_eval.

    Print means, and write the values of each query.
    """
    from fastmetrics.retrieval.rank import rank

    *ranked, qrels = rankings
    return arguments.call(rank, rankings=ranked, qrels=qrels)
