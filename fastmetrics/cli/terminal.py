"""What a command prints: results as tables or in the form that an option names, messages that name options."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import textwrap
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import typer
import typer.models

from fastmetrics.base.errors import (
    Argument,
    FastmetricsError,
    OptionError,
    OutputError,
    ScoreWarning,
    one_line,
    shown,
    visible,
)
from fastmetrics.base.progress import hide_progress

# Printing: messages that name options, and errors of the standard streams.


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


def echo(text: str, *, nl: bool = True, as_is: bool = False) -> None:
    """Print a result, after which no progress is shown; control characters of names and texts become visible signs,
    unless the text is data ``as_is``.

    Raises ``OutputError`` if standard output takes no more.
    """
    hide_progress()
    try:
        typer.echo(text if as_is else visible(text), nl=nl)
    except BrokenPipeError:
        discard_output()
    except OSError as error:
        raise unprintable(error) from error


def echo_line(text: str) -> None:
    """Print a sentence with names of users, such as paths, in one line."""
    echo(one_line(text))


def discard_output() -> None:
    """Print to the null device from now on: nobody reads further, as behind ``| head``, and the exit code stays."""
    with suppress(OSError):
        sys.stdout.close()
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def unprintable(error: OSError) -> OutputError:
    """The error of a standard output that takes no more, which is closed: Python would try again at its exit."""
    with suppress(OSError):
        sys.stdout.close()
    return OutputError(f"cannot print to standard output: {error.strerror}; output files are complete")


_OTHER_BREAK = re.compile(r"\n(?!  (?!\s*::))")
"""A line break that is not ours, which indents by two spaces, or that would begin a command to a CI, ``::error::``."""


def print_error(text: str) -> None:
    """Print a message on standard error, if it takes one: the exit code says the same."""
    try:
        typer.echo(_OTHER_BREAK.sub("␊", visible(text)), err=True)
    except (OSError, ValueError):
        with suppress(OSError):
            sys.stderr.close()


@contextmanager
def printed_warnings(*, quiet: bool) -> Iterator[None]:
    """Within this block, print notes on rows as lines, and other warnings in one, without the code that they are of;
    nothing if ``quiet``.
    """

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        lines = str(message).split("\n") if issubclass(category, ScoreWarning) else [one_line(str(message))]
        for line in [] if quiet else lines:
            print_error(f"note: {line}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", ScoreWarning)
        warnings.showwarning = show
        yield


def message_with_options(error: FastmetricsError, command: Callable[..., Any]) -> str:
    """The message of an error, with arguments written as options of the command."""
    options = _options(command)
    return error.message.written(lambda argument: _option(argument, options))


def _option(argument: Argument, options: Mapping[str, str]) -> str:
    """An argument as an option: ``--threads 0``, ``--columns answer=...``, ``--overwrite``."""
    if argument.name not in options and argument.otherwise:
        return argument.otherwise
    option = options.get(argument.name, f"--{argument.name.replace('_', '-')}")  # of another command
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


# How the result of a command is printed: as a table, or in the form that one of the options names.


FORMS = ("as_json", "as_markdown", "as_latex")
"""The parameters of commands that choose a form: ``--json``, ``--markdown``, ``--latex``."""


@dataclass(frozen=True)
class ResultOfCheck:
    """A result that the command prints, in the form of its own options if it has any, to exit with a code."""

    result: Any
    code: int
    forms: Mapping[str, bool] = field(default_factory=dict)


def code_of(verdict: Any) -> int:
    """The exit code of a gate: 0 if it passed, 6 if rows are too few to tell, 1 otherwise."""
    return 0 if verdict.passed else 6 if verdict.too_few else 1


def check_one_form(forms: Sequence[str], values: Mapping[str, Any]) -> None:
    """Raise ``OptionError`` if the values choose several of a command's forms."""
    if sum(bool(values[form]) for form in forms) > 1:
        *others, last = (form.replace("as_", "--") for form in forms)
        raise OptionError(f"choose one of {', '.join(others)} and {last}")


def print_table(result: Any) -> None:
    """Print a result as text; on a terminal, by Rich, to the width of its window and with verdicts in colour."""
    if not sys.stdout.isatty():
        echo(str(result))
        return
    from rich.console import Console

    hide_progress()
    Console(highlight=False).print(result)


def print_result(result: Any, chosen: Mapping[str, bool] = MappingProxyType({})) -> None:
    """Print a result in the chosen form, or as a table; nothing for None."""
    if result is None:
        return
    if isinstance(result, ResultOfCheck):
        print_result(result.result, {**chosen, **result.forms})
        if result.code:
            raise typer.Exit(result.code)
    elif chosen.get("as_json"):
        echo(result.to_json())
    elif chosen.get("as_latex"):
        echo(result.to_latex(), nl=False)
    elif chosen.get("as_markdown"):
        echo(result.to_markdown(), nl=False)
    else:
        print_table(result)


def print_folded(lines: Iterable[str]) -> None:
    """Print lines; on a terminal, long ones folded, and indented below the text that two spaces part from a name."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    echo("\n".join(line if width is None else _folded(line, width) for line in lines))


def _folded(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    name, beside, _ = line.partition("  ")
    column = line.index(line[len(name) :].lstrip()) if beside and name else 2
    indent = " " * (column if column < width // 2 else 4)
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
