"""``fastmetrics sacrebleu-paired``: sacreBLEU's paired tests on score files with counts."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from fastmetrics.commands.options.option_syntax import name_list, split
from fastmetrics.commands.options.shared_options import (
    AsJson,
    AsMarkdown,
    BaselineName,
    Names,
    OnlyMetrics,
    Pairing,
    System,
    Threads,
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
    pairing: Pairing,
    threads: Threads = None,
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
) -> None:
    """Print the numbers of sacreBLEU's paired tests.

    The numbers of --paired-bs and --paired-ar are the same, bit by bit.
    """
    from fastmetrics.errors import OptionError
    from fastmetrics.results.compare.sacrebleu_paired import sacrebleu_paired

    if as_json and as_markdown:
        raise OptionError("choose one of --json and --markdown")
    called = name_list(names, "--names")
    if called and len(called) != len(runs):
        raise OptionError(f"--names has {len(called)} names for {len(runs)} runs")
    if system is not None and len(runs) > 1:
        raise OptionError("--system needs exactly one file, which contains all systems")
    tests = sacrebleu_paired(
        runs[0] if system is not None else dict(zip(called, runs, strict=True)) if called else runs,
        test=test.value,
        baseline=baseline,
        metrics=split(metrics) or None,
        samples=samples,
        confidence_samples=confidence_samples,
        seed=seed,
        system=system,
        **pairing.values(),
        threads=threads,
    )
    if as_json:
        typer.echo(tests.to_json())
    else:
        typer.echo(tests.to_markdown() if as_markdown else str(tests), nl=not as_markdown)
