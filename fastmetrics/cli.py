"""The ``fastmetrics`` program.  The commands are in ``fastmetrics.commands``; errors become messages and exit codes.

Exit codes: 0 success; 1 a rule of ``gate`` is not met, or ``check --strict`` found a fault; 2 wrong usage, an unknown
name or option; 3 the input cannot be scored; 4 the output cannot be written; 5 an optional dependency is missing; 6 the
workers of a cluster failed; 7 a model server refuses calls or fails repeatedly; 130 interrupted.

If standard output is full, the exit code is 4; output files are still complete.  If standard output or standard error
is closed (``>&-``, ``2>&-``), or its reader was closed, nothing is printed there and the exit code does not change.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from fastmetrics.commands.answer import answer
from fastmetrics.commands.cache import cache
from fastmetrics.commands.check import check
from fastmetrics.commands.compare import compare
from fastmetrics.commands.domain import domain
from fastmetrics.commands.embed import embed
from fastmetrics.commands.gate import gate
from fastmetrics.commands.geometry import geometry
from fastmetrics.commands.interrupts import CODE, heeded
from fastmetrics.commands.judge import judge
from fastmetrics.commands.judges import judges
from fastmetrics.commands.match import match
from fastmetrics.commands.metrics import metrics
from fastmetrics.commands.plot import plot
from fastmetrics.commands.profile import profile
from fastmetrics.commands.project import project
from fastmetrics.commands.rank import rank
from fastmetrics.commands.report import report
from fastmetrics.commands.rows import rows
from fastmetrics.commands.runs import runs
from fastmetrics.commands.sacrebleu import sacrebleu
from fastmetrics.commands.sample import sample
from fastmetrics.commands.score import score
from fastmetrics.commands.search import index, search
from fastmetrics.commands.summarize import summarize
from fastmetrics.commands.terminal import PrintError, abandon, complain, open_streams, told, watched_streams
from fastmetrics.commands.topics import topics
from fastmetrics.commands.trend import trend
from fastmetrics.commands.usage import usage
from fastmetrics.commands.ux import ux
from fastmetrics.commands.validate import validate
from fastmetrics.core.threads import cores
from fastmetrics.core.version import __version__
from fastmetrics.errors import (
    FastmetricsError,
    InputError,
    MissingExtraError,
    OutputError,
    ServiceError,
    WorkerError,
)

app = typer.Typer(
    name="fastmetrics",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _ending_well(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with errors turned into messages and exit codes; Typer would hide some of them."""

    @functools.wraps(command)
    def run(*args: Any, **named: Any) -> None:
        resumes = command in (score, embed, judge, answer)
        last_words = "interrupted; run again with --resume to continue" if resumes else "interrupted"
        try:
            with heeded(last_words):
                cores(named.get("threads"))  # before anything is read
                command(*args, **named)
        except KeyboardInterrupt:
            complain(last_words)
            raise typer.Exit(CODE) from None
        except FastmetricsError as error:
            complain(f"error: {told(error, command)}")
            raise typer.Exit(_code(error)) from None
        except PrintError as error:
            raise typer.Exit(_code_unprinted(error)) from None

    return run


for _command in (
    score,
    metrics,
    summarize,
    compare,
    sacrebleu,
    gate,
    report,
    plot,
    rows,
    runs,
    trend,
    profile,
    validate,
    rank,
    geometry,
    project,
    index,
    search,
    match,
    embed,
    answer,
    judge,
    judges,
    sample,
    check,
    usage,
    domain,
    topics,
    ux,
    cache,
):
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
    """Run the program; errors of the package end it with a message and an exit code."""
    open_streams()
    with watched_streams():
        try:
            app(prog_name="fastmetrics")
        except PrintError as error:  # of help and usage, which Typer prints
            sys.exit(_code_unprinted(error))


def _code_unprinted(error: PrintError) -> int:
    """The exit code if printing failed: 2 if standard error failed."""
    abandon(error.stream)
    if error.unread:
        return 0
    if error.stream.fileno() == 2:
        return 2
    complain(f"error: cannot print to standard output: {error.reason}; output files are complete")
    return 4


def _code(error: FastmetricsError) -> int:
    codes = ((InputError, 3), (OutputError, 4), (MissingExtraError, 5), (WorkerError, 6), (ServiceError, 7))
    return next((code for kind, code in codes if isinstance(error, kind)), 2)
