"""The commands that compare and check scores, and plan and judge such comparisons."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.cli.options import (
    Arguments,
    AsJson,
    AsMarkdown,
    Before,
    FromText,
    Names,
    OptionsOf,
    Plugins,
    Printing,
    Scores,
    Table,
    as_given,
    divisions,
    named_runs,
)
from fastmetrics.cli.terminal import ResultOfCheck
from fastmetrics.stats.promises import CutPromises

Promises = Annotated[CutPromises, OptionsOf(CutPromises), Before("confidence")]


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Score files, folders or addresses: the baseline first, then the others.", metavar="BASE OTHER..."
        ),
    ],
    *,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns whose values define segments: language,topic; compare takes several divisions of rows.",
            metavar="COLUMN,...",
        ),
        FromText(divisions),
    ] = None,
    arguments: Arguments,
    names: Names = None,
    plugin: Plugins = None,
    printing: Printing,
) -> Any:
    """Compare systems with a baseline on the same rows.

    Print the verdict by the main metric, differences, intervals, p values and segments.  A file fastmetrics.toml in the
    working directory may name the main metric: main = "token_recall".
    """
    from fastmetrics.results.main_metric import main_of_project

    main = arguments["main"] or main_of_project()
    return arguments.call(runs=named_runs(runs, names, arguments["system"]), main=main)


def gate(
    scores: Scores,
    *,
    require: Annotated[
        list[str] | None,
        typer.Option("--require", "-r", help="A rule, repeatable: 'token_f1.mean >= 0.6'."),
        FromText(as_given),
    ] = None,
    arguments: Arguments,
    junit: Annotated[str | None, typer.Option(help="Also write JUnit XML to this file.", metavar="FILE")] = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
) -> Any:
    """Check scores against rules, by the exit code.

    The exit code is 0 if all rules are met, and 1 if one is broken.
    """
    from fastmetrics.base.errors import OptionError
    from fastmetrics.tables.outputs import page_target

    if not (require or arguments["rules"]):
        raise OptionError("no rule given; add --require 'token_f1.mean >= 0.6' or --rules FILE")
    inputs = [scores, arguments["rules"], arguments["baseline"]]
    place = None if junit is None else page_target(junit, inputs, overwrite=True)
    verdict = arguments.call()
    if place is not None:
        place.write(verdict.to_junit())
    return ResultOfCheck(verdict, verdict.passed)


def power(
    pilot: Annotated[
        list[str] | None,
        typer.Argument(help="Score files of a pilot: one system, or the baseline and the other.", metavar="[PILOT...]"),
    ] = None,
    *,
    n: Annotated[
        int | None, typer.Option("-n", "--n", help="Questions; prints the difference they detect."), Before("between")
    ] = None,
    within: Annotated[
        list[float] | None,
        typer.Option(help="Variance of one answer within a question; twice for two systems."),
        FromText(_one_or_two),
        Before("correlation"),
    ] = None,
    arguments: Arguments,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Plan how many questions a comparison needs.

    The variances come from a pilot, or are given.
    """
    return arguments.call()


def _one_or_two(values: list[float], option: str) -> float | list[float] | None:
    """One variance, or those of two systems."""
    return values[0] if len(values) == 1 else values or None


def repeats(
    scores: Annotated[
        str, typer.Argument(help="A score file, folder or address with several answers to each question.")
    ],
    *,
    k: Annotated[
        list[int] | None,
        typer.Option("-k", "--k", help="Numbers of answers for pass@k and pass^k; repeatable."),
        FromText(as_given),
    ] = None,
    arguments: Arguments,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Measure how much repeated answers vary.

    Print the variance between and within questions, pass@k and pass^k.
    """
    return arguments.call()


def validate(
    scores: Scores,
    labels: Annotated[str, typer.Argument(help="The file of human labels.", show_default=False)],
    *,
    arguments: Arguments,
    promises: Promises,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Compare every metric with human labels.

    Print correlations, ROC AUC, best threshold, intervals and agreement.
    """
    return arguments.call()


def fit(
    table: Table,
    *,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="The file of the score, with the suffix .toml.", metavar="FILE")
    ] = None,
    arguments: Arguments,
    promises: Promises,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Fit a score to human labels.

    Print its figures on held-out rows, and write it to a file that is a metric.
    """
    return arguments.call()
