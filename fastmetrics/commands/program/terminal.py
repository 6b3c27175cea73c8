"""Printing: messages that name options, and errors of the standard streams."""

from __future__ import annotations

import io
import os
import shlex
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TextIO

import typer
import typer.models

from fastmetrics.base.errors import Argument, FastmetricsError, shown


def open_streams() -> None:
    """Redirect closed standard streams (``2>&-``) to the null device, before another file takes their descriptors."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


ERASE = "\r\x1b[2K"
"""What erases the line of a terminal that the cursor is in."""

BEFORE_PRINTING: list[Callable[[int], None]] = []
"""Functions called with the descriptor of a standard stream before something is printed on it."""


class PrintError(Exception):
    """Printing failed: ``stream`` is full."""

    def __init__(self, stream: TextIO, error: OSError) -> None:
        super().__init__(error.strerror)
        self.stream = stream
        self.reason = error.strerror


class _Printed(io.TextIOWrapper):
    """A standard stream whose failures differ from those of other files.

    Once the reader of a pipe is gone (``| head -1``), what is printed is dropped, and the command ends as usual.
    """

    def write(self, text: str) -> int:
        """Write, or raise ``PrintError``."""
        with self._failures():
            for prepare in BEFORE_PRINTING:
                prepare(self.fileno())
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, or raise ``PrintError``."""
        with self._failures():
            super().flush()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            redirect_to_null(self)
        except OSError as error:
            raise PrintError(self, error) from error

    def close(self) -> None:
        """Do nothing: the stream below is that of another, which may still print when this one is deleted."""


@contextmanager
def watched_streams() -> Iterator[None]:
    """Make standard output and error raise ``PrintError`` until the program ends."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(_watched, before)
    try:
        yield
    finally:
        watched = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = before
        for stream in watched:
            if isinstance(stream, _Printed):
                with suppress(PrintError):
                    stream.flush()  # but keep it usable: libraries hold it for what they do at exit


def _watched(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    how: dict[str, Any] = {"encoding": stream.encoding, "errors": stream.errors}
    return _Printed(stream.buffer, **how, line_buffering=stream.line_buffering, write_through=stream.write_through)


def print_error(text: str) -> None:
    """Print a line on standard error; do nothing if that stream is closed."""
    try:
        typer.echo(text, err=True)
    except PrintError as error:
        redirect_to_null(error.stream)


def redirect_to_null(stream: TextIO) -> None:
    """Redirect a stream to the null device, so that flushing it at exit does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


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
