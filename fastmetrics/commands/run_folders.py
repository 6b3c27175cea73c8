"""The commands on folders of runs: which there are, and a metric over time."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Folder, Plugins
from fastmetrics.commands.program.printing import print_table
from fastmetrics.commands.program.terminal import echo


def list_runs(
    folder: Folder,
    *,
    as_json: AsJson = False,
) -> None:
    """List the runs in a folder.

    Print names, times (if stored), rows, fingerprints and inputs.
    """
    from fastmetrics.base.display import Grid
    from fastmetrics.results.open_runs import list_runs

    runs = list_runs(folder).to_pylist()
    if as_json:
        echo(json.dumps(runs, ensure_ascii=False, indent=2))
        return
    header = ("file", "name", "began", "ended", "rows", "metrics", "ids", "questions")
    cells = [{**run, "rows": f"{run['rows']:,}", "metrics": str(len(run["metrics"]))} for run in runs]
    print_table(Grid(header, [[_short(run[name], name) for name in header] for run in cells]))


def _short(value: str | None, column: str) -> str:
    """A cell; a fingerprint is shortened."""
    if value is None:
        return "–"
    return value[:12] if column in ("ids", "questions") else value


def trend(
    folder: Folder,
    metric: Annotated[str, typer.Argument(help="The metric to show.", show_default=False)],
    *,
    arguments: Arguments,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Show the mean of a metric in each run of a folder.

    The runs come first to last, each mean with its interval.
    """
    return arguments.call()
