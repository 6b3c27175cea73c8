"""``fastmetrics rank``: evaluate search runs against judgements."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.option_syntax import split
from fastmetrics.commands.options.shared_options import AsJson, Guard, NoRelevant, Overwrite, Threads
from fastmetrics.commands.retrieval.ranking_options import (
    MISSING,
    Depth,
    DuplicateDocuments,
    Duplicates,
    Measures,
    Missing,
    NoRelevantQueries,
    RankedRuns,
    RelevanceLevel,
)


def rank(
    runs: RankedRuns,
    *,
    measures: Measures = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the values of each query to this file.", metavar="PATH")
    ] = None,
    relevance_level: RelevanceLevel = 1,
    missing: Annotated[
        Missing | None,
        typer.Option(help=MISSING),
    ] = None,
    no_relevant: NoRelevantQueries = NoRelevant.zero,
    duplicates: DuplicateDocuments = Duplicates.error,
    depth: Depth = None,
    threads: Threads = None,
    overwrite: Overwrite = False,
    guard: Guard = True,
    as_json: AsJson = False,
) -> None:
    """Evaluate retrieval runs like trec_eval.

    Print means, and write the values of each query.
    """
    from fastmetrics.retrieval.rank import MEASURES
    from fastmetrics.retrieval.rank import rank as rank_against

    *ranked, qrels = runs
    result = rank_against(
        ranked,
        qrels,
        split(measures) or MEASURES,
        output=output,
        overwrite=overwrite,
        guard=guard,
        relevance_level=relevance_level,
        missing=missing.value if missing else None,
        no_relevant=no_relevant.value,
        duplicates=duplicates.value,
        depth=depth,
        threads=threads,
    )
    typer.echo(result.to_json() if as_json else str(result))
