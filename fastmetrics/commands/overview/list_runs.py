"""``fastmetrics list-runs``: list the runs in a folder."""

from __future__ import annotations

import json

import typer

from fastmetrics.commands.options.shared_options import AsJson, Folder


def list_runs(
    folder: Folder,
    *,
    as_json: AsJson = False,
) -> None:
    """List the runs in a folder.

    Print names, times (if stored), rows, fingerprints and inputs.
    """
    from fastmetrics.core.display import Grid
    from fastmetrics.results.runs.list_runs import list_runs

    runs = list_runs(folder).to_pylist()
    if as_json:
        typer.echo(json.dumps(runs, ensure_ascii=False, indent=2))
        return
    header = ("file", "name", "began", "ended", "rows", "metrics", "ids", "questions")
    cells = [{**run, "rows": f"{run['rows']:,}", "metrics": str(len(run["metrics"]))} for run in runs]
    typer.echo(str(Grid(header, [[_short(run[name], name) for name in header] for run in cells])))


def _short(value: str | None, column: str) -> str:
    """A cell; a fingerprint is shortened."""
    if value is None:
        return "–"
    return value[:12] if column in ("ids", "questions") else value
