"""``fastmetrics cache``: show, export and prune a store of calls."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fastmetrics.commands.options import GUARD, guarded


def cache(
    store: Annotated[Path, typer.Argument(help="The store of calls, as in judge --store.", show_default=False)],
    *,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
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
    prices: Annotated[
        str | None,
        typer.Option(help="A TOML or JSON file of model prices, as for judge: adds the cost of all replies."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    guard: Annotated[bool, typer.Option("--guard/--no-guard", help=GUARD)] = True,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show, export or prune the store of model calls."""
    from fastmetrics.commands.options import columns
    from fastmetrics.derive.call_store import CallStore
    from fastmetrics.derive.call_store_overview import export, overview, prune_calls

    with CallStore(store, create=False) as calls:
        if prune:
            deleted = prune_calls(calls, columns(prune, "--prune"))
            typer.echo(f"{deleted:,} calls deleted from {store}")
        if out is not None:
            rows, quoted = export(calls, out, overwrite=overwrite, guard=guard)
            typer.echo(f"{rows:,} calls written: {out}")
            if quoted:
                typer.echo(guarded(quoted))
        if out is None and not prune:
            stored = overview(calls, prices)
            typer.echo(stored.to_json() if json else str(stored))
