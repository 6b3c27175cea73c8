"""``fastmetrics compare-rankings``: rankings compared query by query."""

from __future__ import annotations

from typing import Annotated, Any

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Printing
from fastmetrics.commands.retrieval.ranking_options import Measures, RankingsAndQrels


def compare_rankings(
    rankings: RankingsAndQrels,
    *,
    measures: Measures = None,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.results.compare.compare_rankings")],
    printing: Printing,
) -> Any:
    """Compare rankings query by query.

    Print differences, intervals and p values of each measure.
    """
    *ranked, qrels = rankings
    return arguments.call(rankings=ranked, qrels=qrels)
