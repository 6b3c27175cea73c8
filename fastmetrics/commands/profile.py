"""``fastmetrics profile``: measure the time of each stage of scoring."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options import NoRelevantRows, Plugins, TextLists


def profile(
    table: Annotated[list[str], typer.Argument(help="Files, folders, globs, or -.", metavar="INPUT...")],
    *,
    metrics: Annotated[list[str] | None, typer.Option("--metrics", "-m", help="Metrics: token_f1,jaccard,...")] = None,
    suites: Annotated[list[str] | None, typer.Option(help="Suites of metrics: lexical,generation,...")] = None,
    no_relevant: NoRelevantRows = None,
    lists: TextLists = None,
    columns: Annotated[list[str] | None, typer.Option(help="Your column names: answer=text,...")] = None,
    schema: Annotated[str | None, typer.Option(help="A preset of column names.")] = None,
    format: Annotated[str | None, typer.Option(help="The input format, if the suffix does not show it.")] = None,
    threads: Annotated[int, typer.Option(help="Number of threads, from 1 to 1,024.")] = 1,
    plugin: Plugins = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Score a table and print the speed of each stage.

    Score after a warm-up, discard the scores, and print rows/s, MB/s and the time share of each stage.
    """
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import load_plugins, pairs, split
    from fastmetrics.scoring.profile import profile as profile_table

    load_plugins(plugin)
    found = profile_table(
        table,
        split(metrics) or None,
        columns=pairs(columns),
        schema=schema,
        suites=split(suites),
        no_relevant=None if no_relevant is None else no_relevant.value,
        lists=names(lists, "--lists"),
        format=format,
        threads=threads,
    )
    typer.echo(found.to_json() if as_json else str(found))
