"""``fastmetrics side-by-side``: means of several runs in one table."""

from __future__ import annotations

import typer

from fastmetrics.commands.options.shared_options import AsJson, Plugins, Runs, load_plugins


def side_by_side(runs: Runs, *, plugin: Plugins = None, as_json: AsJson = False) -> None:
    """Show several runs side by side.

    The table has one line for each metric and one column of means for each run.
    """
    from fastmetrics.results.summary.side_by_side import side_by_side

    load_plugins(plugin)
    table = side_by_side(runs)
    typer.echo(table.to_json() if as_json else str(table))
