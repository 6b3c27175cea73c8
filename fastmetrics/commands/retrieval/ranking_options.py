"""Options of the commands that evaluate rankings."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.option_syntax import FromText, split

Measures = Annotated[
    list[str] | None,
    typer.Option("--measures", "-m", help="Measures: ndcg@10,mrr,RBP(p=0.8).", metavar="MEASURE"),
    FromText(split),
]
RankingsAndQrels = Annotated[
    list[str], typer.Argument(help="Files of rankings, then the judgements (qrels).", metavar="RANKING... QRELS")
]
