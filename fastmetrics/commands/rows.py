"""``fastmetrics rows``: print or write the rows behind a figure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from fastmetrics.commands.options import GUARD, Plugins, guarded

_WIDTH = 80
_LINES = 4
"""How many lines of a text are printed."""


def rows(
    scores: Annotated[str, typer.Argument(help="The score file, folder or address.", show_default=False)],
    answers: Annotated[str | None, typer.Argument(help="The file that was scored, for its texts.")] = None,
    *,
    worst: Annotated[str | None, typer.Option(help="Show the worst scores of this metric.", metavar="METRIC")] = None,
    best: Annotated[str | None, typer.Option(help="Show the best scores of this metric.", metavar="METRIC")] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="Number of rows.")] = 20,
    baseline: Annotated[
        str | None, typer.Option(help="Scores of another run: show the rows with the largest changes.")
    ] = None,
    on: Annotated[str | None, typer.Option(help="The column of ids; by default id.")] = None,
    better: Annotated[list[str] | None, typer.Option(help="Which direction is better: my_score=lower.")] = None,
    allow_differences: Annotated[
        bool, typer.Option("--allow-differences", help="Compare runs even if their options or versions differ.")
    ] = False,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Write the rows to this file instead.", metavar="PATH")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    guard: Annotated[bool, typer.Option("--guard/--no-guard", help=GUARD)] = True,
    plugin: Plugins = None,
) -> None:
    """Show the rows with the worst or best scores, with texts.

    With a baseline, show the largest changes.
    """
    from fastmetrics.commands.options import load_plugins, pairs
    from fastmetrics.errors import OptionError
    from fastmetrics.results.worst_rows import worst_rows
    from fastmetrics.tables.output.write_table import table_place, write_whole

    if (worst is None) == (best is None):
        raise OptionError("give one metric with --worst METRIC or --best METRIC")
    load_plugins(plugin)
    metric = str(worst or best)
    place = None if out is None else table_place(out, [scores, answers, baseline], overwrite=overwrite)
    how: dict[str, Any] = {"n": n, "answers": answers, "baseline": baseline, "best": best is not None}
    ways = pairs(better, "--better", "NAME=lower or NAME=higher")
    found = worst_rows(scores, metric, on=on, better=ways, allow_differences=allow_differences, **how)
    if place is None:
        typer.echo("\n\n".join(_printed(row, metric) for row in found.to_pylist()) or "no row has a score")
        return
    quoted = write_whole(found, place, {"rows": metric}, {"id"}, guard=guard)
    typer.echo(f"{found.num_rows:,} rows: {out}")
    if quoted:
        typer.echo(guarded(quoted))


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
