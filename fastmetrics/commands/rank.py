"""``fastmetrics rank``: evaluate search runs against judgements."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from fastmetrics.commands.options import GUARD, NoRelevant, Threads


class Missing(StrEnum):
    """Handling of a judged query that the run lacks."""

    zero = "zero"
    skip = "skip"


class Duplicates(StrEnum):
    """Handling of a document listed twice for one query."""

    error = "error"
    first = "first"


def rank(
    runs: Annotated[list[str], typer.Argument(help="Run files, then the judgements (qrels).", metavar="RUN... QRELS")],
    *,
    measures: Annotated[
        list[str] | None, typer.Option("--measures", "-m", help="Measures: ndcg@10,mrr,RBP(p=0.8).")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Write the values of each query to this file.", metavar="PATH")
    ] = None,
    relevance_level: Annotated[
        float, typer.Option("--relevance-level", "-l", help="The lowest grade that counts as relevant.")
    ] = 1,
    missing: Annotated[
        Missing | None,
        typer.Option(
            help="Judged queries that a run lacks: skip (left out, as by trec_eval; the default for one run), or zero "
            "(score 0, as by trec_eval -c; the default for several)."
        ),
    ] = None,
    no_relevant: Annotated[
        NoRelevant, typer.Option(help="Score of a query without relevant documents: zero, or undefined.")
    ] = NoRelevant.zero,
    duplicates: Annotated[
        Duplicates, typer.Option(help="A document listed twice for one query: error, or first (keep the first).")
    ] = Duplicates.error,
    depth: Annotated[
        int | None, typer.Option("--depth", "-M", help="Use only this many documents of each query.")
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare the runs query by query instead: differences, intervals, p.")
    ] = False,
    baseline: Annotated[str | None, typer.Option(help="The name of the baseline run in --compare.")] = None,
    tests: Annotated[
        list[str] | None, typer.Option(help="Tests of --compare: fisher (the default), t, mcnemar, wilcoxon.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of --compare.")] = 0,
    threads: Threads = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    guard: Annotated[bool, typer.Option("--guard/--no-guard", help=GUARD)] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the comparison as Markdown.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print a table of runs and measures in LaTeX.")] = False,
) -> None:
    """Evaluate retrieval runs against judgements like trec_eval.

    Print means, values per query of one run, or a comparison.
    """
    from fastmetrics.commands.options import split
    from fastmetrics.errors import OptionError
    from fastmetrics.results.ranking_comparison import compare_rankings
    from fastmetrics.retrieval.rank import MEASURES
    from fastmetrics.retrieval.rank import rank as rank_against

    *ranked, qrels = runs
    if as_json + as_markdown + as_latex > 1:
        raise OptionError("choose one of --json, --markdown and --latex")
    if not compare and (as_markdown or as_latex or baseline is not None or tests):
        raise OptionError("--baseline, --tests, --markdown and --latex need --compare")
    if compare:
        if out is not None:
            raise OptionError("--compare writes no file: remove --out, or evaluate one run without --compare")
        compared = compare_rankings(
            ranked,
            qrels,
            split(measures) or MEASURES,
            baseline=baseline,
            tests=split(tests) or "fisher",
            relevance_level=relevance_level,
            missing=missing.value if missing else "zero",
            no_relevant=no_relevant.value,
            duplicates=duplicates.value,
            depth=depth,
            seed=seed,
            threads=threads,
        )
        if as_markdown or as_latex:
            typer.echo(compared.to_markdown() if as_markdown else compared.to_latex(), nl=False)
        else:
            typer.echo(compared.to_json() if as_json else str(compared))
        return
    found = rank_against(
        ranked,
        qrels,
        split(measures) or MEASURES,
        output=out,
        overwrite=overwrite,
        guard=guard,
        relevance_level=relevance_level,
        missing=missing.value if missing else None,
        no_relevant=no_relevant.value,
        duplicates=duplicates.value,
        depth=depth,
        threads=threads,
    )
    typer.echo(found.to_json() if as_json else str(found))
