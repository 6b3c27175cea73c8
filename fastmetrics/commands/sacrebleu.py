"""``fastmetrics sacrebleu``: sacreBLEU's paired tests on score files with counts."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from fastmetrics.commands.options import Threads


class Test(StrEnum):
    """sacreBLEU's tests: paired bootstrap resampling, paired approximate randomisation."""

    bs = "bs"
    ar = "ar"


def sacrebleu(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Score files written with --keep-counts: the baseline first, then the others.", metavar="BASE OTHER..."
        ),
    ],
    *,
    test: Annotated[Test, typer.Option("--paired", help="The test: --paired-bs or --paired-ar of sacreBLEU.")],
    metrics: Annotated[
        list[str] | None, typer.Option("--metrics", "-m", help="Compare only these metrics: corpus_bleu,corpus_chrf.")
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option("--samples", "-n", help="Number of resamples (default 1000) or trials (default 10000)."),
    ] = None,
    confidence_samples: Annotated[
        int, typer.Option(help="Resamples for the intervals of ar, like --paired-ar-confidence-n; 0 for none.")
    ] = 0,
    seed: Annotated[
        int | None, typer.Option(help="Random seed; by default the variable SACREBLEU_SEED, otherwise 12345.")
    ] = None,
    names: Annotated[list[str] | None, typer.Option("--names", help="Names of the runs, in order: old,new.")] = None,
    baseline: Annotated[str | None, typer.Option(help="The name of the baseline run.")] = None,
    on: Annotated[str | None, typer.Option(help="The column that pairs the rows; by default the id.")] = None,
    by_position: Annotated[
        bool, typer.Option("--by-position", help="Pair rows by position: row i of each run is the same sentence.")
    ] = False,
    allow_differences: Annotated[
        bool, typer.Option("--allow-differences", help="Compare runs even if their options or versions differ.")
    ] = False,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Print the numbers of sacreBLEU's paired tests, faster.

    The numbers of --paired-bs and --paired-ar are the same, bit by bit.
    """
    from fastmetrics.commands.options import columns, split
    from fastmetrics.errors import OptionError
    from fastmetrics.results.sacrebleu_paired import sacrebleu_paired

    if as_json and as_markdown:
        raise OptionError("choose one of --json and --markdown")
    called = columns(names, "--names")
    if called and len(called) != len(runs):
        raise OptionError(f"--names has {len(called)} names for {len(runs)} runs")
    found = sacrebleu_paired(
        dict(zip(called, runs, strict=True)) if called else runs,
        test.value,
        baseline=baseline,
        metrics=split(metrics) or None,
        samples=samples,
        confidence_samples=confidence_samples,
        seed=seed,
        on=on,
        by_position=by_position,
        allow_differences=allow_differences,
        threads=threads,
    )
    if as_json:
        typer.echo(found.to_json())
    else:
        typer.echo(found.to_markdown() if as_markdown else str(found), nl=not as_markdown)
