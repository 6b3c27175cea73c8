"""Printing: messages that name options, and errors of the standard streams."""

from __future__ import annotations

import os
import shlex
import sys
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import typer
import typer.models

from fastmetrics.base.errors import Argument, FastmetricsError, OutputError, shown
from fastmetrics.base.progress import hide_progress


def open_streams() -> None:
    """Open standard input and error on the null device if they are closed (``<&-``, ``2>&-``).

    The system gives a file the lowest free number, so that none which is opened later becomes one of them.  Raises
    ``OutputError`` if standard output is closed.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        raise OutputError("cannot print: standard output is closed")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def echo(text: str, *, nl: bool = True) -> None:
    """Print a result, after which no progress is shown; raises ``OutputError`` if standard output takes no more."""
    hide_progress()
    try:
        typer.echo(text, nl=nl)
    except OSError as error:
        raise unprintable(error) from error


def unprintable(error: OSError) -> OutputError:
    """The error of a standard output that takes no more, which is closed: Python would try again at its exit."""
    with suppress(OSError):
        sys.stdout.close()
    return OutputError(f"cannot print to standard output: {error.strerror}; output files are complete")


def print_error(text: str) -> None:
    """Print a line on standard error, if it takes one: the exit code says the same."""
    try:
        typer.echo(text, err=True)
    except (OSError, ValueError):
        with suppress(OSError):
            sys.stderr.close()


def message_with_options(error: FastmetricsError, command: Callable[..., Any]) -> str:
    """The message of an error, with arguments written as options of the command."""
    options = _options(command)
    return error.message.written(lambda argument: _option(argument, options))


def _option(argument: Argument, options: Mapping[str, str]) -> str:
    """An argument as an option: ``--threads 0``, ``--columns answer=...``, ``--overwrite``."""
    option = options.get(argument.name)
    if option is None:
        return str(argument)
    if not argument.has_value or argument.value is True:
        return option
    if isinstance(argument.value, Mapping):
        return f"{option} {','.join(f'{_word(key)}={_word(item)}' for key, item in argument.value.items())}"
    return f"{option} {_word(argument.value)}"


def _word(value: Any) -> str:
    if value is ...:
        return "..."
    if not isinstance(value, str):
        return shown(value)
    quoted = shown(value)
    return shlex.quote(value) if quoted[1:-1] == value else quoted  # truncated or escaped values are shown as they are


def _options(command: Callable[..., Any]) -> dict[str, str]:
    """The options of a command by parameter name; the longest spelling of each."""
    spellings = {}
    for name, hint in typing.get_type_hints(command, include_extras=True).items():
        info = next((item for item in typing.get_args(hint)[1:] if isinstance(item, typer.models.OptionInfo)), None)
        if info is not None:
            declared = [info.default, *(info.param_decls or ())]  # Annotated: the default is a name
            spelled = [item for item in declared if isinstance(item, str) and item.startswith("-")]
            spellings[name] = max(spelled, key=len) if spelled else "--" + name.replace("_", "-")
    return spellings
