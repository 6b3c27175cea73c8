"""The commands that compare and check scores, and plan and judge such comparisons."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer

from fastmetrics.base.errors import FastmetricsError, OptionError
from fastmetrics.cli.commands import load
from fastmetrics.cli.options import (
    Arguments,
    AsJson,
    FromText,
    Names,
    OptionsOf,
    Picture,
    Plugins,
    Printing,
    Scores,
    Spelling,
    Table,
    divisions,
    draw,
    named_runs,
    picture_place,
    split,
)
from fastmetrics.cli.terminal import ResultOfCheck, code_of, echo, message_with_options
from fastmetrics.fitting.fit import fit
from fastmetrics.results.compare import compare
from fastmetrics.results.gate import Gate, UncheckedGate, gate
from fastmetrics.results.main_metric import main_of_project
from fastmetrics.results.power import power
from fastmetrics.results.ranking_comparison import compare_rankings
from fastmetrics.results.repeated_runs import repeats
from fastmetrics.results.validate import validate
from fastmetrics.tables.outputs import page_target


def compare_command(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Score files, folders or addresses, or files of rankings: the baseline first, then the others.",
            metavar="BASE OTHER...",
        ),
    ],
    *,
    names: Names = None,
    qrels: Annotated[
        str | None,
        typer.Option("--qrels", help="Judgements: compare rankings by the measures of --metrics.", metavar="FILE"),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics",
            "-m",
            help="Only these metrics: token_f1,mrr; of rankings, measures: ndcg@10,RBP(p=0.8).",
            metavar="METRIC,...",
        ),
        FromText(split),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing",
            help="Rows that one run alone scores are left out (ignore, the default), or the other counts as the worst "
            "score of the metric; of rankings, judged queries without a document: zero or skip.",
            metavar="ignore|worst|zero|skip",
        ),
    ] = None,
    arguments: Annotated[
        Arguments,
        OptionsOf(compare, compare_rankings, without=["measures", "missing"], by=Spelling("COLUMN,...", divisions)),
    ],
    plot: Picture = None,
    plugin: Plugins = None,
    printing: Printing,
) -> Any:
    """Print the verdict by the main metric, differences, intervals, p values and segments.

    A file fastmetrics.toml in the working directory may name the main metric: main = "token_recall".
    """
    place = picture_place(plot, runs, qrels)
    compared = named_runs(runs, names, arguments["system"])
    ways = {"files of scores": {*inspect.signature(compare).parameters}}
    ways["--qrels"] = {*inspect.signature(compare_rankings).parameters, "metrics"}
    if qrels is None:
        arguments.check_of("files of scores", ways)
        main = arguments["main"] or main_of_project()
        result = arguments.call(compare, runs=compared, main=main, missing=missing or "ignore")
    else:
        arguments.check_of("--qrels", ways)
        chosen: dict[str, Any] = {"missing": missing or "zero"} | ({} if metrics is None else {"measures": metrics})
        result = arguments.call(compare_rankings, rankings=compared, qrels=qrels, **chosen)
    draw(place, result)
    return result


def gate_command(
    scores: Scores,
    *,
    arguments: Annotated[Arguments, OptionsOf(gate)],
    json: Annotated[str | None, typer.Option(help="Also write JSON to this file; - prints it.", metavar="FILE")] = None,
    markdown: Annotated[
        str | None, typer.Option(help="Also write Markdown to this file; - prints it.", metavar="FILE")
    ] = None,
    junit: Annotated[
        str | None, typer.Option(help="Also write JUnit XML to this file; - prints it.", metavar="FILE")
    ] = None,
    plugin: Plugins = None,
) -> Any:
    """The exit code is 0 if all rules are met, 1 if one is broken, 6 if only rows are too few to tell."""
    printed = {"as_json": json == "-", "as_markdown": markdown == "-", "as_junit": junit == "-"}
    if sum(printed.values()) > 1:
        raise OptionError("choose one of --json -, --markdown - and --junit -")
    inputs = [scores, arguments["rules"], arguments["baseline"]]
    files = {".json": json, ".md": markdown, ".xml": junit}
    places = {
        suffix: page_target(path, inputs, suffix, overwrite=True)
        for suffix, path in files.items()
        if path not in (None, "-")
    }
    verdict: Gate | UncheckedGate
    failed: FastmetricsError | None = None
    try:
        if not (arguments.get("require") or arguments["rules"]):
            raise OptionError("no rule given; add --require 'token_f1.mean >= 0.6' or --rules FILE")
        verdict = arguments.call(gate)
    except FastmetricsError as error:  # files of the last check would be taken for those of this one
        verdict, failed = UncheckedGate(scores, message_with_options(error, load("gate"))), error
    write = {".json": verdict.to_json, ".md": verdict.to_markdown, ".xml": verdict.to_junit}
    for suffix, place in places.items():
        place.write(write[suffix]().rstrip("\n") + "\n")
    if failed is not None or junit == "-":
        for text in (form() for form, is_printed in zip(write.values(), printed.values(), strict=True) if is_printed):
            echo(text.rstrip("\n"))
    if failed is not None:
        raise failed
    assert isinstance(verdict, Gate)
    return ResultOfCheck(None if junit == "-" else verdict, code_of(verdict), printed)


def power_command(
    pilot: Annotated[
        list[str] | None,
        typer.Argument(help="Score files of a pilot: the baseline and the other system.", metavar="[PILOT...]"),
    ] = None,
    *,
    arguments: Annotated[Arguments, OptionsOf(power, within=Spelling(convert=_one_or_two))],
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """The variances come from a pilot, or are given."""
    return arguments.call(power)


def _one_or_two(values: list[float], option: str) -> float | list[float] | None:
    """One variance, or those of two systems."""
    return values[0] if len(values) == 1 else values or None


def repeats_command(
    scores: Annotated[
        str, typer.Argument(help="A score file, folder or address with several answers to each question.")
    ],
    *,
    arguments: Annotated[Arguments, OptionsOf(repeats)],
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Print the variance between and within questions, pass@k and pass^k."""
    return arguments.call(repeats)


def validate_command(
    scores: Scores,
    labels: Annotated[
        str | None, typer.Argument(help="The file of human labels, or a column of the scores.", show_default=False)
    ] = None,
    *,
    arguments: Annotated[Arguments, OptionsOf(validate)],
    plot: Picture = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Print correlations, ROC AUC, best threshold, intervals and agreement."""
    place = picture_place(plot, scores, labels)
    result = arguments.call(validate)
    draw(place, result)
    return result


def fit_command(
    table: Table,
    *,
    arguments: Annotated[Arguments, OptionsOf(fit, output=Spelling("FILE", short="-o"))],
    plot: Picture = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Print its figures on held-out rows, and write it to a file that is a metric."""
    place = picture_place(plot, table)
    result = arguments.call(fit)
    draw(place, result)
    return result
