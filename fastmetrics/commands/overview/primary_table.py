"""``fastmetrics primary-table``: the primary figures of runs."""

from __future__ import annotations

import typer

from fastmetrics.commands.options.shared_options import AsJson, Plugins, Runs, load_plugins


def primary_table(runs: Runs, *, plugin: Plugins = None, as_json: AsJson = False) -> None:
    """Show the primary figures of each run.

    They are N, Faithfulness, Overlap, F1, Tokens, Latency, Abstain Rate and Avg EM.
    """
    from fastmetrics.results.summary.primary_table import primary_table

    load_plugins(plugin)
    table = primary_table(runs)
    typer.echo(table.to_json() if as_json else str(table))
