"""``fastmetrics profile``: measure the time of each stage of scoring."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.shared_options import THREADS, AsJson, Format, Plugins, Scoring, Table, load_plugins


def profile(
    table: Table,
    *,
    scoring: Scoring,
    format: Format = None,
    threads: Annotated[int, typer.Option(help=THREADS)] = 1,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """Score a table and print the speed of each stage.

    Score after a warm-up, discard the scores, and print rows/s, MB/s and the time share of each stage.
    """
    from fastmetrics.scoring.profile import profile as profile_table

    load_plugins(plugin)
    times = profile_table(table, **scoring.values(), format=format, threads=threads)
    typer.echo(times.to_json() if as_json else str(times))
