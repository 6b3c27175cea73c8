"""``fastmetrics match``: answer questions from a FAQ by word matching."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Output, guarded


def match(
    questions: Annotated[str, typer.Argument(help="A file with a question column.", show_default=False)],
    faq: Annotated[str, typer.Argument(help="A file with question and answer columns.", show_default=False)],
    *,
    output: Output,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.faq.match")],
) -> None:
    """Answer every question from the most similar FAQ row.

    Similarity is that of the words of the questions.
    """
    matched = arguments.call()
    typer.echo(f"{matched.rows:,} questions answered: {output}")
    if matched.guarded:
        typer.echo(guarded(matched.guarded))
