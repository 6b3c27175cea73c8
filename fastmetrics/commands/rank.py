"""``fastmetrics rank``: search results against judgements."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from fastmetrics.commands.options import GUARD, NoRelevant, Threads


class Missing(StrEnum):
    """What becomes of a judged query that the run does not hold."""

    zero = "zero"
    skip = "skip"


class Duplicates(StrEnum):
    """What becomes of a document that is there twice for one query."""

    error = "error"
    first = "first"


def rank(
    runs: Annotated[list[str], typer.Argument(help="Runs, then the judgements (qrels).", metavar="RUN... QRELS")],
    *,
    measures: Annotated[
        list[str] | None, typer.Option("--measures", "-m", help="Measures: ndcg@10,mrr,RBP(p=0.8).")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="A file for the values of each query.", metavar="PATH")
    ] = None,
    relevance_level: Annotated[float, typer.Option("--relevance-level", "-l", help="Relevant from this grade on.")] = 1,
    missing: Annotated[Missing, typer.Option(help="A judged query not in the run: zero, or skip it.")] = Missing.zero,
    no_relevant: Annotated[
        NoRelevant, typer.Option(help="A query with nothing relevant: zero, or undefined.")
    ] = NoRelevant.zero,
    duplicates: Annotated[
        Duplicates, typer.Option(help="A document there twice: error, or only the first counts.")
    ] = Duplicates.error,
    depth: Annotated[int | None, typer.Option("--depth", "-M", help="Look at this many documents a query.")] = None,
    threads: Threads = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    guard: Annotated[bool, typer.Option("--guard/--no-guard", help=GUARD)] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Evaluate runs by judgements with trec_eval's numbers: means, and values per query if there is one run."""
    from fastmetrics.commands.options import split
    from fastmetrics.retrieval.evaluate import MEASURES
    from fastmetrics.retrieval.rank_files import rank_files

    *ranked, qrels = runs
    found = rank_files(
        ranked,
        qrels,
        out,
        measures=split(measures) or MEASURES,
        overwrite=overwrite,
        guard=guard,
        relevance_level=relevance_level,
        missing=missing.value,
        no_relevant=no_relevant.value,
        duplicates=duplicates.value,
        depth=depth,
        threads=threads,
    )
    typer.echo(found.to_json() if as_json else str(found))
