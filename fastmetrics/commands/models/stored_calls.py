"""``fastmetrics stored-calls``: show, export and prune a store of calls."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fastmetrics.commands.options.option_syntax import name_list
from fastmetrics.commands.options.shared_options import AsJson, Guard, Overwrite, Prices, guarded


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
    ] = None,
    prices: Prices = None,
    overwrite: Overwrite = False,
    guard: Guard = True,
    as_json: AsJson = False,
) -> None:
    """Show, export or prune the store of model calls."""
    from fastmetrics.derive.store.call_store import CallStore
    from fastmetrics.derive.store.call_store_overview import export, prune_calls, stored_calls

    if output is None and not prune:
        stored = stored_calls(store, prices=prices)
        typer.echo(stored.to_json() if as_json else str(stored))
        return
    with CallStore(store, create=False) as calls:
        if prune:
            deleted = prune_calls(calls, name_list(prune, "--prune"))
            typer.echo(f"{deleted:,} calls deleted from {store}")
        if output is not None:
            rows, quoted = export(calls, output, overwrite=overwrite, guard=guard)
            typer.echo(f"{rows:,} calls written: {output}")
            if quoted:
                typer.echo(guarded(quoted))
