"""The ``fastmetrics`` program.  Its commands live in ``fastmetrics.commands``; errors become messages and exit codes.

Exit codes: 0 done; 2 wrong usage, an unknown name or option; 3 input that cannot be scored; 4 output that cannot be
written; 5 an optional dependency is missing; 6 the workers of a cluster failed; 130 interrupted.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from fastmetrics import __version__
from fastmetrics.commands.geometry import geometry
from fastmetrics.commands.match import match
from fastmetrics.commands.metrics import metrics
from fastmetrics.commands.profile import profile
from fastmetrics.commands.rank import rank
from fastmetrics.commands.score import score
from fastmetrics.commands.search import index, search
from fastmetrics.commands.summarize import summarize
from fastmetrics.commands.validate import validate
from fastmetrics.errors import FastmetricsError, InputError, MissingExtraError, OutputError, WorkerError

app = typer.Typer(
    name="fastmetrics",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _ending_well(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with an interrupt and a reader that went away dealt with here: Typer would do so in silence."""

    @functools.wraps(command)
    def run(*args: Any, **named: Any) -> None:
        try:
            command(*args, **named)
        except KeyboardInterrupt:
            again = "; run again with --resume to go on" if command is score else ""
            typer.echo(f"interrupted{again}", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit from None

    return run


for _command in (score, metrics, summarize, profile, validate, rank, geometry, index, search, match):
    app.command()(_ending_well(_command))


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"fastmetrics {__version__}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Score tables of question-answering and RAG answers at memory speed."""


def main() -> None:
    """Run the program; what the package raises on purpose ends it with a message and a code of its own."""
    try:
        app(prog_name="fastmetrics")
    except FastmetricsError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(_code(error))


def _code(error: FastmetricsError) -> int:
    for kind, code in ((InputError, 3), (OutputError, 4), (MissingExtraError, 5), (WorkerError, 6)):
        if isinstance(error, kind):
            return code
    return 2
