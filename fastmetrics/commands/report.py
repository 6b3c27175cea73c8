"""``fastmetrics report``: scores, their texts and a comparison as one page that opens from a file."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from fastmetrics.commands.options import Plugins, Threads


class Language(StrEnum):
    """The languages of a report's labels."""

    en = "en"
    ru = "ru"


class Rows(StrEnum):
    """The rows of a report."""

    sample = "sample"
    all = "all"


def report(
    scores: Annotated[
        list[str],
        typer.Argument(help="Files or folders of scores, or addresses; the rows shown are those of the first."),
    ],
    *,
    out: Annotated[
        str,
        typer.Option("--out", "-o", help="The page to write: report.html; with --rows all a folder.", metavar="PATH"),
    ],
    texts: Annotated[str | None, typer.Option(help="The file that was scored, for the texts of the rows.")] = None,
    baseline: Annotated[str | None, typer.Option(help="Scores of another run, to compare all with.")] = None,
    baseline_texts: Annotated[str | None, typer.Option(help="The baseline's answers.")] = None,
    judged: Annotated[str | None, typer.Option(help="What judge wrote, for a page on the judges.")] = None,
    usage: Annotated[
        list[str] | None,
        typer.Option(help="What usage, topics, ux or domain wrote with -o, for a page on them; may be repeated."),
    ] = None,
    vectors: Annotated[
        str | None, typer.Option(help="Vectors of the rows, with their ids, for a page with a projection of them.")
    ] = None,
    runs: Annotated[
        str | None, typer.Option(help="A folder of outputs, for a page on metrics over its runs.", metavar="FOLDER")
    ] = None,
    rows: Annotated[
        Rows, typer.Option(help="Rows of the page: a sample, or all, in a folder of files that the page loads.")
    ] = Rows.sample,
    by: Annotated[
        list[str] | None, typer.Option(help="Columns that the runs kept, whose values cut the rows into segments.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title of the page; by default the run's name.")] = None,
    language: Annotated[Language, typer.Option(help="The language of labels.")] = Language.en,
    allow_differences: Annotated[
        bool, typer.Option("--allow-differences", help="Compare runs scored with other options or versions.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the page if it exists.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    threads: Threads = None,
    plugin: Plugins = None,
) -> None:
    """Write a page that opens from a file: means, distributions, a comparison, and the rows behind them."""
    from fastmetrics.commands.options import columns, load_plugins
    from fastmetrics.reporting.report import report as make

    load_plugins(plugin)
    made = make(
        scores,
        out,
        texts=texts,
        baseline=baseline,
        baseline_texts=baseline_texts,
        judged=judged,
        usage=usage,
        vectors=vectors,
        rows=rows.value,
        runs=runs,
        by=columns(by, "--by"),
        title=title,
        language=language.value,
        allow_differences=allow_differences,
        overwrite=overwrite,
        seed=seed,
        threads=threads,
    )
    typer.echo(str(made))
