"""The ``fastmetrics`` program.  The commands are in ``fastmetrics.commands``; errors become messages and exit codes.

Exit codes: 0 success; 1 a rule of ``gate`` is not met, or ``check-dataset --strict`` found a fault; 2 wrong usage, an
unknown name or option; 3 the input cannot be scored; 4 the output cannot be written; 5 an optional dependency is
missing; 6 the workers of a cluster failed; 7 a model server refuses calls or fails repeatedly; 8 an unexpected error,
a fault of the program, with its traceback on standard error, or too little memory; 9 the output of ``judge`` or
``answer`` is complete, but rows in it have no reply, since their calls failed; 130 interrupted, 143 terminated
(SIGTERM), 129 the terminal was closed (SIGHUP).

If standard output is full, the exit code is 4; output files are still complete.  If standard output or standard error
is closed (``>&-``, ``2>&-``), or its reader was closed, nothing is printed there and the exit code does not change.

``fastmetrics --install-completion`` makes bash, zsh, fish or PowerShell complete commands and options.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import typer
import typer.main

from fastmetrics.base.errors import (
    FastmetricsError,
    InputError,
    MissingExtraError,
    OptionError,
    OutputError,
    ServiceError,
    WorkerError,
)
from fastmetrics.base.public_names import __version__
from fastmetrics.base.threads import cores
from fastmetrics.commands import COMMANDS, load
from fastmetrics.commands.program.compiling_note import compiling_note
from fastmetrics.commands.program.garbage_collection import rare_garbage_collection
from fastmetrics.commands.program.help_pages import AS_WIDE_AS_THE_WINDOW, CommandHelp, ProgramHelp
from fastmetrics.commands.program.interrupts import exit_code, interruptible, interruption
from fastmetrics.commands.program.progress_line import progress_line
from fastmetrics.commands.program.terminal import (
    PrintError,
    message_with_options,
    open_streams,
    print_error,
    redirect_to_null,
    watched_streams,
)
from fastmetrics.commands.program.unexpected_errors import UnexpectedErrors, check_memory


class _Commands(Mapping[str, Any]):
    """The commands by name.  Importing and building a command takes time, so each is built when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return _built(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


@functools.cache
def _built(name: str) -> Any:
    """The command as Typer makes it from its function."""
    alone = typer.Typer(add_completion=False, **_APPEARANCE)
    alone.command(name, cls=CommandHelp)(_with_exit_codes(load(name)))
    return typer.main.get_command(alone)


class _Program(ProgramHelp):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = _Commands()


_APPEARANCE: dict[str, Any] = {"pretty_exceptions_enable": False, "rich_markup_mode": None}

app = typer.Typer(
    name="fastmetrics", cls=_Program, no_args_is_help=True, context_settings=AS_WIDE_AS_THE_WINDOW, **_APPEARANCE
)


_EXPECTED = (FastmetricsError, PrintError, typer.Exit, typer.BadParameter)
"""The exceptions of commands that become messages and exit codes of their own."""


def _with_exit_codes(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with errors turned into messages and exit codes; Typer would hide some of them."""
    resumes = "resume" in inspect.signature(command).parameters
    name = command.__name__.replace("_", "-")
    interrupt_message = "interrupted; run again with --resume to continue" if resumes else "interrupted"

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            with interruptible(interrupt_message), UnexpectedErrors(*_EXPECTED):
                _check_surroundings()
                cores(options.get("threads"))  # before anything is read
                with progress_line(name, bool(options.get("quiet"))), compiling_note(options):
                    command(*args, **options)
        except KeyboardInterrupt as error:
            print_error(interruption(interrupt_message, error))
            raise typer.Exit(exit_code(error)) from None
        except FastmetricsError as error:
            print_error(f"error: {message_with_options(error, command)}")
            raise typer.Exit(_code(error)) from None
        except PrintError as error:
            raise typer.Exit(_code_unprinted(error)) from None

    return run


def _check_surroundings() -> None:
    """Raise ``OptionError`` for a working folder or a variable with which libraries fail."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise OptionError("the working folder was deleted; change to another one, for example: cd ~") from None
    threads = os.environ.get("NUMBA_NUM_THREADS", "1").strip()
    if re.fullmatch(r"-\d+|0+", threads):
        raise OptionError(f"the variable NUMBA_NUM_THREADS is {threads}; unset it, or set a number from 1 on")


def _version(is_set: bool) -> None:
    if is_set:
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
    try:
        open_streams()  # before anything else is opened
        with interruptible("interrupted"):
            _main()
    except KeyboardInterrupt as error:  # before or after the command
        sys.exit(exit_code(error))


def _main() -> None:
    with rare_garbage_collection(), watched_streams(), UnexpectedErrors(SystemExit):
        check_memory()
        try:
            app(prog_name="fastmetrics")
        except PrintError as error:  # of help and usage, which Typer prints
            sys.exit(_code_unprinted(error))


def _code_unprinted(error: PrintError) -> int:
    """The exit code if printing failed: 2 if standard error failed."""
    redirect_to_null(error.stream)
    if error.stream.fileno() == 2:
        return 2
    print_error(f"error: cannot print to standard output: {error.reason}; output files are complete")
    return 4


def _code(error: FastmetricsError) -> int:
    codes = ((InputError, 3), (OutputError, 4), (MissingExtraError, 5), (WorkerError, 6), (ServiceError, 7))
    return next((code for kind, code in codes if isinstance(error, kind)), 2)
