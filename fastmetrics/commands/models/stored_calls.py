"""``fastmetrics stored-calls``: show, export and prune a store of calls."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fastmetrics.base.options import descriptions
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText, names
from fastmetrics.commands.options.shared_options import AsJson, Guard, Overwrite, guarded
from fastmetrics.commands.program.terminal import echo
from fastmetrics.models.call_setup import CallOptions


def stored_calls(
    store: Annotated[Path, typer.Argument(help="The store of calls, as in judge --store.", show_default=False)],
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Write all calls to this file, one row per call; the suffix sets the format.",
            metavar="PATH",
        ),
    ] = None,
    prune: Annotated[
        list[str] | None,
        typer.Option(
            help="Delete calls: failures, model=NAME, endpoint=NAME (a server), or days=30 (older than 30 days). "
            "A call is deleted if it matches all conditions."
        ),
        FromText(names),
    ] = None,
    prices: Annotated[str | None, typer.Option(help=descriptions(CallOptions)["prices"])] = None,
    overwrite: Overwrite = False,
    guard: Guard = True,
    as_json: AsJson = False,
    arguments: Arguments,
) -> Any:
    """Show, export or prune the store of model calls."""
    from fastmetrics.models.call_store import CallStore, export, prune_calls, stored_calls

    if output is None and not prune:
        return arguments.call(stored_calls)
    with CallStore(store, create=False) as calls:
        if prune:
            echo(f"{prune_calls(calls, prune):,} calls deleted from {store}")
        if output is not None:
            rows, quoted = arguments.call(export, store=calls, out=output)
            echo(f"{rows:,} calls written: {output}")
            if quoted:
                echo(guarded(quoted))
    return None
