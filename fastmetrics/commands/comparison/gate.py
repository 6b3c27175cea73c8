"""``fastmetrics gate``: check scores against rules, with an exit code for CI."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from fastmetrics.commands.options.option_syntax import pairs
from fastmetrics.commands.options.shared_options import (
    AsJson,
    AsMarkdown,
    Better,
    Cluster,
    Confidence,
    Pairing,
    Plugins,
    Scores,
    Seed,
    Sequential,
    Threads,
    load_plugins,
)
from fastmetrics.commands.program.terminal import print_lines, print_pieces


class Unpaired(StrEnum):
    """How rows without a score count."""

    worst = "worst"
    ignore = "ignore"


class Correction(StrEnum):
    """Corrections of intervals."""

    none = "none"
    bonferroni = "bonferroni"


def gate(
    scores: Scores,
    *,
    require: Annotated[
        list[str] | None, typer.Option("--require", "-r", help="A rule, repeatable: 'token_f1.mean >= 0.6'.")
    ] = None,
    rules: Annotated[str | None, typer.Option(help="A TOML file of rules.")] = None,
    baseline: Annotated[str | None, typer.Option(help="The baseline scores for rules on delta and drop.")] = None,
    latest: Annotated[bool, typer.Option("--latest", help="Take the last run of a folder of several.")] = False,
    unpaired: Annotated[
        Unpaired, typer.Option(help="Rows without a score count as the worst score of the metric, or are left out.")
    ] = Unpaired.worst,
    min_n: Annotated[
        int | None,
        typer.Option(
            "--min-n", help="Rows with a score that a rule needs; by default 5, or 20 if it reads an interval."
        ),
    ] = None,
    better: Better = None,
    cluster: Cluster = None,
    confidence: Confidence = 0.95,
    correction: Annotated[
        Correction, typer.Option(help="Correction of the intervals for the number of rules that read one.")
    ] = Correction.none,
    sequential: Sequential = False,
    pairing: Pairing,
    seed: Seed = 0,
    threads: Threads = None,
    junit: Annotated[str | None, typer.Option(help="Also write JUnit XML to this file.", metavar="FILE")] = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
) -> None:
    """Check scores against rules, by the exit code.

    The exit code is 0 if all rules are met, and 1 if one is broken.
    """
    from fastmetrics.errors import OptionError
    from fastmetrics.results.gate.gate import gate as held_against
    from fastmetrics.tables.output.write_table import page_place, write_page

    if as_json and as_markdown:
        raise OptionError("choose one of --json and --markdown")
    if not (require or rules):
        raise OptionError("no rule given; add --require 'token_f1.mean >= 0.6' or --rules FILE")
    load_plugins(plugin)
    place = None if junit is None else page_place(junit, [scores, rules, baseline], overwrite=True)
    verdict = held_against(
        scores,
        require or (),
        rules=rules,
        baseline=baseline,
        latest=latest,
        unpaired=unpaired.value,
        min_n=min_n,
        better=pairs(better, "--better", "NAME=lower or NAME=higher"),
        cluster=cluster,
        confidence=confidence,
        correction=correction.value,
        sequential=sequential,
        **pairing.values(),
        seed=seed,
        threads=threads,
    )
    if place is not None:
        write_page(place, verdict.to_junit())
    if as_json:
        print_pieces(verdict.json_pieces())
    else:
        print_lines(verdict.markdown_lines() if as_markdown else verdict.lines())
    if not verdict.passed:
        raise typer.Exit(1)
