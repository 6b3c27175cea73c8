"""``fastmetrics match``: answer questions from a FAQ by word matching."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options import GUARD, Threads, guarded


def match(
    questions: Annotated[str, typer.Argument(help="A file with a question column.", show_default=False)],
    faq: Annotated[str, typer.Argument(help="A file with question and answer columns.", show_default=False)],
    *,
    output: Annotated[str, typer.Option("--output", "-o", help="The file of answers.", metavar="PATH")],
    columns: Annotated[
        list[str] | None, typer.Option(help="Your column names in both files: question=text,answer=reply.")
    ] = None,
    threads: Threads = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    guard: Annotated[bool, typer.Option("--guard/--no-guard", help=GUARD)] = True,
) -> None:
    """Answer every question from the most similar FAQ row.

    Similarity is that of the words of the questions.
    """
    from fastmetrics.commands.options import pairs
    from fastmetrics.faq.match import match as match_tables

    matched = match_tables(
        questions, faq, output=output, columns=pairs(columns), threads=threads, overwrite=overwrite, guard=guard
    )
    typer.echo(f"{matched.rows:,} questions answered: {output}")
    if matched.guarded:
        typer.echo(guarded(matched.guarded))
