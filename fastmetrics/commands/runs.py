"""``fastmetrics runs``: list the runs in a folder."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def runs(
    folder: Annotated[
        str, typer.Argument(help="A folder of outputs of score, or its address.", metavar="FOLDER", show_default=False)
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the runs in a folder.

    Print names, times (if stored), rows, fingerprints and inputs.
    """
    from fastmetrics.core.display import Grid
    from fastmetrics.results.run_list import list_runs

    found = list_runs(folder).to_pylist()
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    header = ("file", "name", "began", "ended", "rows", "metrics", "ids", "questions")
    cells = [{**run, "rows": f"{run['rows']:,}", "metrics": str(len(run["metrics"]))} for run in found]
    typer.echo(str(Grid(header, [[_short(run[name], name) for name in header] for run in cells])))


def _short(value: str | None, column: str) -> str:
    """A cell; a fingerprint is shortened."""
    if value is None:
        return "–"
    return value[:12] if column in ("ids", "questions") else value
