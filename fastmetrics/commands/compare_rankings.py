"""``fastmetrics compare-rankings``: search runs compared query by query."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options import (
    AsJson,
    AsMarkdown,
    BaselineName,
    Bootstrap,
    Confidence,
    Corrected,
    Correction,
    Interval,
    IntervalKind,
    NoRelevant,
    Resamples,
    Seed,
    Threads,
)
from fastmetrics.commands.ranking_options import (
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
    tests: Annotated[
        list[str] | None, typer.Option(help="fisher (the default), t, mcnemar, wilcoxon.", metavar="TEST")
    ] = None,
    correction: Corrected = Correction.holm,
    resamples: Resamples = 10_000,
    bootstrap: Bootstrap = 2_000,
    confidence: Confidence = 0.95,
    interval: Interval = IntervalKind.auto,
    relevance_level: RelevanceLevel = 1,
    missing: Annotated[
        Missing, typer.Option(help="Judged queries that a run lacks: zero (score 0), or skip (left out).")
    ] = Missing.zero,
    no_relevant: NoRelevantQueries = NoRelevant.zero,
    duplicates: DuplicateDocuments = Duplicates.error,
    depth: Depth = None,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print a table of runs and measures in LaTeX.")] = False,
) -> None:
    """Compare retrieval runs query by query.

    Print differences, intervals and p values of each measure.
    """
    from fastmetrics.commands.options import split
    from fastmetrics.errors import OptionError
    from fastmetrics.results.ranking_comparison import compare_rankings
    from fastmetrics.retrieval.rank import MEASURES

    if as_json + as_markdown + as_latex > 1:
        raise OptionError("choose one of --json, --markdown and --latex")
    *ranked, qrels = runs
    comparison = compare_rankings(
        ranked,
        qrels,
        split(measures) or MEASURES,
        baseline=baseline,
        tests=split(tests) or "fisher",
        correction=correction.value,
        resamples=resamples,
        bootstrap=bootstrap,
        confidence=confidence,
        interval=interval.value,
        relevance_level=relevance_level,
        missing=missing.value,
        no_relevant=no_relevant.value,
        duplicates=duplicates.value,
        depth=depth,
        seed=seed,
        threads=threads,
    )
    if as_markdown or as_latex:
        typer.echo(comparison.to_markdown() if as_markdown else comparison.to_latex(), nl=False)
    else:
        typer.echo(comparison.to_json() if as_json else str(comparison))
