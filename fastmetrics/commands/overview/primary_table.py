"""``fastmetrics primary-table``: the primary figures of runs."""

from __future__ import annotations

from typing import Any

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Plugins, Runs


def primary_table(runs: Runs, *, plugin: Plugins = None, as_json: AsJson = False, arguments: Arguments) -> Any:
    """Show the primary figures of each run.

    They are N, Faithfulness, Overlap, F1, Tokens, Latency, Abstain Rate and Avg EM.
    """
    from fastmetrics.results.summary.primary_table import primary_table

    return arguments.call(primary_table)
