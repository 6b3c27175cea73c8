"""``fastmetrics compare-rankings``: search runs compared query by query."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.option_syntax import split
from fastmetrics.commands.options.shared_options import BaselineName, NoRelevant, PairedTests, Printing, Testing
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


def compare_rankings(
    runs: RankedRuns,
    *,
    measures: Measures = None,
    baseline: BaselineName = None,
    tests: PairedTests = None,
    testing: Testing,
    relevance_level: RelevanceLevel = 1,
    missing: Annotated[Missing, typer.Option(help=MISSING)] = Missing.zero,
    no_relevant: NoRelevantQueries = NoRelevant.zero,
    duplicates: DuplicateDocuments = Duplicates.error,
    depth: Depth = None,
    printing: Printing,
) -> None:
    """Compare retrieval runs query by query.

    Print differences, intervals and p values of each measure.
    """
    from fastmetrics.results.compare.compare_rankings import compare_rankings
    from fastmetrics.retrieval.rank import MEASURES

    printing.check()
    *ranked, qrels = runs
    comparison = compare_rankings(
        ranked,
        qrels,
        split(measures) or MEASURES,
        baseline=baseline,
        tests=split(tests) or "fisher",
        **testing.values(),
        relevance_level=relevance_level,
        missing=missing.value,
        no_relevant=no_relevant.value,
        duplicates=duplicates.value,
        depth=depth,
    )
    if printing.as_markdown or printing.as_latex:
        typer.echo(comparison.to_markdown() if printing.as_markdown else comparison.to_latex(), nl=False)
    else:
        typer.echo(comparison.to_json() if printing.as_json else str(comparison))
