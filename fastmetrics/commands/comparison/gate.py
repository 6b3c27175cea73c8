"""``fastmetrics gate``: check scores against rules, with an exit code for CI."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText, as_given
from fastmetrics.commands.options.shared_options import (
    INTERVAL,
    AsJson,
    AsMarkdown,
    Better,
    Cluster,
    Confidence,
    Plugins,
    RowPairs,
    Scores,
    Seed,
    Threads,
)
from fastmetrics.commands.program.printing import ResultOfCheck


class Unpaired(StrEnum):
    """How rows without a score count."""

    worst = "worst"
    ignore = "ignore"


class GateCorrection(StrEnum):
    """Corrections of intervals."""

    none = "none"
    bonferroni = "bonferroni"


class GateInterval(StrEnum):
    """Kinds of intervals that rules read."""

    auto = "auto"
    sequential = "sequential"


def gate(
    scores: Scores,
    *,
    require: Annotated[
        list[str] | None,
        typer.Option("--require", "-r", help="A rule, repeatable: 'token_f1.mean >= 0.6'."),
        FromText(as_given),
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
        GateCorrection, typer.Option(help="Correction of the intervals for the number of rules that read one.")
    ] = GateCorrection.none,
    interval: Annotated[GateInterval, typer.Option(help=INTERVAL)] = GateInterval.auto,
    pairs: RowPairs,
    seed: Seed = 0,
    threads: Threads = None,
    junit: Annotated[str | None, typer.Option(help="Also write JUnit XML to this file.", metavar="FILE")] = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
    arguments: Arguments,
) -> Any:
    """Check scores against rules, by the exit code.

    The exit code is 0 if all rules are met, and 1 if one is broken.
    """
    from fastmetrics.errors import OptionError
    from fastmetrics.results.gate.gate import gate
    from fastmetrics.tables.output.write_table import page_place, write_page

    if not (require or rules):
        raise OptionError("no rule given; add --require 'token_f1.mean >= 0.6' or --rules FILE")
    place = None if junit is None else page_place(junit, [scores, rules, baseline], overwrite=True)
    verdict = arguments.call(gate)
    if place is not None:
        write_page(place, verdict.to_junit())
    return ResultOfCheck(verdict, verdict.passed)
