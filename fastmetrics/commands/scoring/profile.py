"""``fastmetrics profile``: measure the time of each stage of scoring."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import THREADS, AsJson, Format, Plugins, Scoring, Table


def profile(
    table: Table,
    *,
    scoring: Scoring,
    format: Format = None,
    threads: Annotated[int, typer.Option(help=THREADS)] = 1,
    plugin: Plugins = None,
    as_json: AsJson = False,
    arguments: Arguments,
) -> Any:
    """Score a table and print the speed of each stage.

    Score after a warm-up, discard the scores, and print rows/s, MB/s and the time share of each stage.
    """
    from fastmetrics.scoring.profile import profile

    return arguments.call(profile)
