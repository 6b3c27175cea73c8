"""``fastmetrics rubric``: list and print the rubrics of judges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from fastmetrics.commands.program.printing import print_folded


def rubric(
    source: Annotated[
        str | None,
        typer.Argument(help="A built-in rubric to print, or your own .toml file to check and print.", metavar="NAME"),
    ] = None,
    *,
    language: Annotated[str, typer.Option(help="The language of the rubric: en or ru.")] = "en",
) -> None:
    """List the rubrics of judges, or print one.

    Send it to a file, change that, and give its path to judge.
    """
    from fastmetrics.core.allowed_values import Choice, argument
    from fastmetrics.derive.prompts.rubric import LANGUAGES, read_rubric, rubric_path
    from fastmetrics.tables.remote.small_files import read_text

    argument("language", language, Choice(*LANGUAGES))
    if source is None:
        print_folded(_list(language))
        return
    path = rubric_path(source, language)
    read_rubric(path)
    typer.echo(read_text(path), nl=False)


def _list(language: str) -> Iterator[str]:
    """The built-in rubrics in a language: names, kinds, ranges of scores, columns."""
    from fastmetrics.derive.prompts.rubric import read_rubric, shipped

    rubrics = [read_rubric(path) for stem, path in shipped().items() if stem.endswith(f".{language}")]
    width = max(len(rubric.name) for rubric in rubrics)
    for rubric in rubrics:
        low, high = rubric.range
        columns = ", ".join(
            f"{column} (optional)" if column in rubric.optional else column for column in rubric.columns
        )
        yield f"{rubric.name:{width}}  {rubric.kind}, {low:g} to {high:g}: {columns}"
