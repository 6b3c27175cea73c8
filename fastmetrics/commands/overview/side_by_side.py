"""``fastmetrics side-by-side``: means of several runs in one table."""

from __future__ import annotations

from typing import Any

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Plugins, Runs


def side_by_side(runs: Runs, *, plugin: Plugins = None, as_json: AsJson = False, arguments: Arguments) -> Any:
    """Show several runs side by side.

    The table has one line for each metric and one column of means for each run.
    """
    from fastmetrics.results.summary.side_by_side import side_by_side

    return arguments.call(side_by_side)
