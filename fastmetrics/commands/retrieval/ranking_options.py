"""Options of the commands that evaluate rankings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from fastmetrics.commands.options.option_syntax import FromText, split
from fastmetrics.commands.options.shared_options import NoRelevant, NoRelevantDocuments


class Missing(StrEnum):
    """Handling of a judged query that the ranking lacks."""

    zero = "zero"
    skip = "skip"


class Duplicates(StrEnum):
    """Handling of a document listed twice for one query."""

    error = "error"
    first = "first"


MISSING = (
    "Judged queries that a ranking lacks: skip (left out, as by trec_eval; the default for one ranking), or zero "
    "(score 0, as by trec_eval -c; the default for several)."
)
Measures = Annotated[
    list[str] | None,
    typer.Option("--measures", "-m", help="Measures: ndcg@10,mrr,RBP(p=0.8).", metavar="MEASURE"),
    FromText(split),
]
RankingsAndQrels = Annotated[
    list[str], typer.Argument(help="Files of rankings, then the judgements (qrels).", metavar="RANKING... QRELS")
]


@dataclass(frozen=True, kw_only=True)
class RankingEvaluation:
    """How rankings are evaluated."""

    relevance_level: Annotated[
        float, typer.Option("--relevance-level", "-l", help="The lowest grade that counts as relevant.")
    ] = 1
    no_relevant: NoRelevantDocuments = NoRelevant.undefined
    duplicates: Annotated[
        Duplicates,
        typer.Option("--duplicates", help="A document listed twice for one query: error, or first (keep the first)."),
    ] = Duplicates.error
    depth: Annotated[int | None, typer.Option("--depth", "-M", help="Use only this many documents of each query.")] = (
        None
    )
