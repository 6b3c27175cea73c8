"""``fastmetrics report``: scores, their texts and a comparison as one page that opens from a file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import (
    AllowDifferences,
    By,
    Overwrite,
    Plugins,
    Seed,
    System,
    Threads,
    named_runs,
)


class Language(StrEnum):
    """The languages of a report's labels."""

    en = "en"
    ru = "ru"


@dataclass(frozen=True, kw_only=True)
class Comparing:
    """How the runs of a report are compared."""

    by: By = None
    resamples: Annotated[
        int | None,
        typer.Option(
            min=1, help="Random sign patterns for each p; by default 10,000, or as many more as a verdict needs."
        ),
    ] = None
    allow_differences: AllowDifferences = False
    seed: Seed = 0
    threads: Threads = None


class ReportRows(StrEnum):
    """The rows of a report."""

    sample = "sample"
    all = "all"


def report(
    scores: Annotated[
        list[str],
        typer.Argument(help="Score files, folders or addresses; rows are shown of the first."),
    ],
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="Output page, such as report.html; with rows all, a folder.", metavar="PATH"
        ),
    ],
    texts: Annotated[
        list[str] | None,
        typer.Option(help="File that was scored, with the texts of the rows; may be repeated, once for each run."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Score file that all others are compared with, or with a system its name.")
    ] = None,
    baseline_texts: Annotated[str | None, typer.Option(help="File with the baseline's answers.")] = None,
    judged: Annotated[str | None, typer.Option(help="Output of judge, for a page on the judges.")] = None,
    usage: Annotated[
        list[str] | None,
        typer.Option(
            help="Output of the commands that read logs (chunk-utilization, topic-coverage, …), for a page on them; "
            "may be repeated."
        ),
    ] = None,
    vectors: Annotated[
        str | None, typer.Option(help="Vectors of the rows with their ids, for a page with their projection.")
    ] = None,
    vectors_column: Annotated[str | None, typer.Option(help="Column of the vectors; by default the only one.")] = None,
    runs: Annotated[
        str | None, typer.Option(help="Folder of outputs, for a page of metrics over runs.", metavar="FOLDER")
    ] = None,
    rows: Annotated[
        ReportRows, typer.Option(help="Rows to show: a sample, or all, in files that the page loads.")
    ] = ReportRows.sample,
    system: System = None,
    title: Annotated[str | None, typer.Option(help="The title of the page; by default the run's name.")] = None,
    language: Annotated[Language, typer.Option(help="The language of labels.")] = Language.en,
    overwrite: Overwrite = False,
    comparing: Comparing,
    plugin: Plugins = None,
    arguments: Arguments,
) -> None:
    """Write a page of charts and rows.

    It shows means, distributions, a comparison, and the rows behind them.
    """
    from fastmetrics.reporting.report import report

    typer.echo(str(arguments.call(report, scores=named_runs(scores, None, system))))
