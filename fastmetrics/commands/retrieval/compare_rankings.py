"""``fastmetrics compare-rankings``: rankings compared query by query."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import BaselineName, PairedTests, Printing, Testing
from fastmetrics.commands.retrieval.ranking_options import (
    MISSING,
    Measures,
    Missing,
    RankingEvaluation,
    RankingsAndQrels,
)


def compare_rankings(
    rankings: RankingsAndQrels,
    *,
    measures: Measures = None,
    baseline: BaselineName = None,
    tests: PairedTests = None,
    testing: Testing,
    evaluation: RankingEvaluation,
    missing: Annotated[Missing, typer.Option(help=MISSING)] = Missing.zero,
    printing: Printing,
    arguments: Arguments,
) -> Any:
    """Compare rankings query by query.

    Print differences, intervals and p values of each measure.
    """
    from fastmetrics.results.compare.compare_rankings import compare_rankings

    *ranked, qrels = rankings
    return arguments.call(compare_rankings, rankings=ranked, qrels=qrels)
