"""``fastmetrics worst-rows``: print or write the rows behind a figure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Guard, Overwrite, Plugins, Scores, guarded
from fastmetrics.commands.program.terminal import echo

_WIDTH = 80
_LINES = 4
"""How many lines of a text are printed."""


def worst_rows(
    scores: Scores,
    metric: Annotated[str, typer.Argument(help="The metric.", show_default=False)],
    *,
    n: Annotated[int, typer.Option("-n", min=1, help="Number of rows.")] = 20,
    answers: Annotated[
        str | None, typer.Option(help="The file that was scored, for its texts.", metavar="FILE")
    ] = None,
    arguments: Arguments,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the rows to this file instead.", metavar="PATH")
    ] = None,
    overwrite: Overwrite = False,
    guard: Guard = True,
    plugin: Plugins = None,
) -> None:
    """Show the rows with the worst or best scores.

    With a baseline, show the largest losses or gains.
    """
    from fastmetrics.tables.outputs import table_place, write_whole

    earlier = [] if arguments["system"] is not None else [arguments["baseline"]]
    place = None if output is None else table_place(output, [scores, answers, *earlier], overwrite=overwrite)
    rows = arguments.call()
    if place is None:
        echo("\n\n".join(_printed(row, metric) for row in rows.to_pylist()) or "no row has a score")
        return
    quoted = write_whole(rows, place, {"rows": metric}, {"id"}, guard=guard)
    echo(f"{rows.num_rows:,} rows: {output}")
    if quoted:
        echo(guarded(quoted))


def _printed(row: dict[str, Any], metric: str) -> str:
    """A row as lines of at most 80 characters: its id and score, then its texts."""
    if "change" in row:
        score = f"{metric} {row['score']:.4f}, was {row['baseline']:.4f} ({row['change']:+.4f})"
    else:
        score = f"{metric} {row[metric]:.4f}"
    texts = [(name, row[name]) for name in ("question", "reference", "answer", "contexts") if row.get(name) is not None]
    return "\n".join([f"{row['id']}  {score}", *(line for name, value in texts for line in _lines(name, value))])


def _lines(name: str, value: Any) -> Iterator[str]:
    """One or several texts under their name, truncated and without control characters."""
    for place, text in enumerate(value if isinstance(value, list) else [value]):
        plain = " ".join("".join(c if c.isprintable() else " " for c in text or "").split()) or "(empty)"
        lines = textwrap.wrap(plain, _WIDTH - 13, max_lines=_LINES, placeholder=" …")
        for number, line in enumerate(lines):
            yield f"  {name if not (place or number) else '':9}  {line}"
