"""``fastmetrics sample``: a sheet of judged rows for people to label."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options import GUARD, guarded


def sample(
    judged: Annotated[list[str], typer.Argument(help="Files of judgements.", metavar="JUDGED...", show_default=False)],
    *,
    out: Annotated[str, typer.Option("--out", "-o", help="The sheet: a file, by suffix.", metavar="PATH")],
    n: Annotated[int, typer.Option("-n", help="How many rows.")] = 200,
    strategy: Annotated[str, typer.Option(help="random, stratified (by score) or disagreement.")] = "random",
    seed: Annotated[int, typer.Option(help="Which rows are drawn.")] = 1,
    score: Annotated[str | None, typer.Option(help="The column of scores; by default the only judged one.")] = None,
    label: Annotated[str, typer.Option(help="What the empty column for labels is called.")] = "human",
    texts: Annotated[str | None, typer.Option(help="The file that was judged, for the texts.", metavar="FILE")] = None,
    on: Annotated[str | None, typer.Option(help="The column to match rows by; by default the id.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    guard: Annotated[bool, typer.Option("--guard/--no-guard", help=GUARD)] = True,
) -> None:
    """Write a sheet of judged rows for people to label, which validate and judges read back."""
    from fastmetrics.results.sample_rows import sample_rows
    from fastmetrics.tables.output.write_table import write_whole

    how: dict[str, Any] = {"strategy": strategy, "seed": seed, "score": score, "label": label, "texts": texts, "on": on}
    found = sample_rows(judged, n, **how)
    quoted = write_whole(found, out, {"sample": strategy}, {"id"}, overwrite=overwrite, guard=guard)
    typer.echo(f"{found.num_rows:,} rows: {out}")
    if strategy == "disagreement":
        typer.echo("these are the hard rows, no sample of all: their mean label says nothing of the rest")
    if quoted:
        typer.echo(guarded(quoted))
