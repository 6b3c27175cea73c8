"""``fastmetrics sacrebleu-paired``: sacreBLEU's paired tests on score files with counts."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import (
    AsJson,
    AsMarkdown,
    BaselineName,
    Names,
    OnlyMetrics,
    RowPairs,
    System,
    Threads,
    named_runs,
)


class Test(StrEnum):
    """sacreBLEU's tests: paired bootstrap resampling, paired approximate randomisation."""

    bs = "bs"
    ar = "ar"


def sacrebleu_paired(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Score files written with --keep-counts: the baseline first, then the others.", metavar="BASE OTHER..."
        ),
    ],
    *,
    test: Annotated[Test, typer.Option(help="The test: --paired-bs or --paired-ar of sacreBLEU.")] = Test.bs,
    metrics: OnlyMetrics = None,
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
    names: Names = None,
    baseline: BaselineName = None,
    system: System = None,
    pairs: RowPairs,
    threads: Threads = None,
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
    arguments: Arguments,
) -> Any:
    """Print the numbers of sacreBLEU's paired tests.

    The numbers of --paired-bs and --paired-ar are the same, bit by bit.
    """
    from fastmetrics.results.compare.sacrebleu_paired import sacrebleu_paired

    return arguments.call(sacrebleu_paired, runs=named_runs(runs, names, system))
