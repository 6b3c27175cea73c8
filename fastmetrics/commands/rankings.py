"""The commands that evaluate rankings against judgements."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText, split
from fastmetrics.commands.options.shared_options import AsJson, Printing

Measures = Annotated[
    list[str] | None,
    typer.Option("--measures", "-m", help="Measures: ndcg@10,mrr,RBP(p=0.8).", metavar="MEASURE"),
    FromText(split),
]
RankingsAndQrels = Annotated[
    list[str], typer.Argument(help="Files of rankings, then the judgements (qrels).", metavar="RANKING... QRELS")
]


def rank(
    rankings: RankingsAndQrels,
    *,
    measures: Measures = None,
    arguments: Arguments,
    as_json: AsJson = False,
) -> Any:
    """Evaluate rankings like trec_eval.

    Print means, and write the values of each query.
    """
    *ranked, qrels = rankings
    return arguments.call(rankings=ranked, qrels=qrels)


def compare_rankings(
    rankings: RankingsAndQrels,
    *,
    measures: Measures = None,
    arguments: Arguments,
    printing: Printing,
) -> Any:
    """Compare rankings query by query.

    Print differences, intervals and p values of each measure.
    """
    *ranked, qrels = rankings
    return arguments.call(rankings=ranked, qrels=qrels)
