"""``fastmetrics rank``: evaluate rankings against judgements."""

from __future__ import annotations

from typing import Annotated, Any

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson
from fastmetrics.commands.retrieval.ranking_options import Measures, RankingsAndQrels


def rank(
    rankings: RankingsAndQrels,
    *,
    measures: Measures = None,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.retrieval.rank")],
    as_json: AsJson = False,
) -> Any:
    """Evaluate rankings like trec_eval.

    Print means, and write the values of each query.
    """
    *ranked, qrels = rankings
    return arguments.call(rankings=ranked, qrels=qrels)
