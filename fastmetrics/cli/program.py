"""The ``fastmetrics`` program: errors become messages and exit codes, and help pages show commands in groups.

Exit codes:

- 0: success
- 1: a rule of ``gate``, or of ``runs trend --alert``, is not met, or ``logs check --strict`` found a fault
- 2: wrong usage, an unknown name or option, an output whose suffix is that of another format
- 3: the input cannot be scored
- 4: the output cannot be written
- 5: an optional dependency is missing
- 6: such rules are not met, all for want of rows
- 7: a model server refuses calls or fails repeatedly
- 8: an unexpected error, a fault of the program, with its traceback on standard error, or too little memory
- 9, 10, 11: the output of ``judge run``, ``answer`` or ``evaluate-rag`` is complete, but rows in it have no reply:
  their calls failed (9), the budget was spent before (10), or no reply to a rubric or a bot can be read (11)
- 130: interrupted; 143: terminated (SIGTERM); 129: the terminal was closed (SIGHUP)
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from fastmetrics.base.errors import (
    FastmetricsError,
    InputError,
    MissingExtraError,
    OptionError,
    OutputError,
    ServiceError,
    UnknownNameError,
    either,
    nearest,
)
from fastmetrics.base.progress import shown_progress
from fastmetrics.base.public_names import __version__
from fastmetrics.base.threads import cores
from fastmetrics.cli.commands import COMMANDS, SECTIONS, TOP, Command, Group, load
from fastmetrics.cli.exits import Stopped, unexpected_errors
from fastmetrics.cli.options import FURTHER
from fastmetrics.cli.terminal import (
    discard_output,
    echo,
    message_with_options,
    open_streams,
    print_error,
    printed_warnings,
    unprintable,
)

# The pages of ``--help``: commands in groups, and options with placeholders that a reader knows.


AS_WIDE_AS_THE_WINDOW = {"max_content_width": 10_000}
"""Settings of a context; the default is at most 80 columns."""


class CommandHelp(TyperCommand):
    """A command, whose help page shows an argument by its placeholder alone: ``INPUT...``, not its type in Python."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """``[OPTIONS]`` and the arguments, those in brackets that may be absent."""
        shown = ((param, argument_name(param)) for param in self._arguments())
        return ["[OPTIONS]", *(name if param.required else f"[{name}]" for param, name in shown)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options."""
        arguments = [(argument_name(param), param.help or "") for param in self._arguments()]
        options = (param.get_help_record(ctx) for param in self.get_params(ctx) if param not in self._arguments())
        for title, records in (("Arguments", arguments), ("Options", list(filter(None, options)))):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        hidden = {param.name: param.opts[0] for param in self.params if getattr(param, "hidden", False)}
        for group, names in FURTHER.items() if hidden else ():
            if options_ := [hidden[name] for name in names if name in hidden]:
                formatter.write_paragraph()
                formatter.write_text(f"With --help-all, {group}: {', '.join(options_)}")

    def _arguments(self) -> list[Any]:
        return [param for param in self.params if param.param_type_name == "argument"]


def argument_name(param: Any) -> str:
    """An argument's placeholder."""
    return str(param.metavar or param.name.upper())


# The ``fastmetrics`` program.  The commands are in ``fastmetrics.cli``; errors become messages and exit codes.
#
# If standard output is full or closed (``>&-``), or its reader is gone (``| head -1``), the program says so and the
# exit code is 4; output files are still complete.  What a closed standard error would get is dropped.
#
# On a terminal, long commands show a bar on standard error; elsewhere they print a line there every 10 seconds, with
# what is done, the rate and the time left.  ``--quiet`` shows neither.
#
# ``fastmetrics --install-completion`` makes bash, zsh, fish or PowerShell complete commands and options.


class _Commands(Mapping[str, Any]):
    """Commands by their words.  Importing and building one takes time, so each is built when it is looked up."""

    def __init__(self, names: Mapping[str, Command | Group], before: str = "") -> None:
        self._names, self._before = names, before

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return _built(f"{self._before}{name}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


_APPEARANCE: dict[str, Any] = {"pretty_exceptions_enable": False, "rich_markup_mode": None}


@functools.cache
def _built(name: str) -> Any:
    """The command of this whole name, as Typer makes it from its function, or the group of this first word."""
    found = TOP.get(name) or COMMANDS[name]
    if isinstance(found, Group):
        group = _WithSuggestions(name=name, help=found.summary, no_args_is_help=True, rich_markup_mode=None)
        group.commands = _Commands(found.commands, f"{name} ")  # type: ignore[assignment]
        group.sections = {"Commands": found.commands}
        return group
    alone, function = typer.Typer(add_completion=False, **_APPEARANCE), load(name)
    more = inspect.cleandoc(function.__doc__ or "")
    alone.command(name.rpartition(" ")[2], cls=CommandHelp, help=f"{found.summary}\n\n{more}")(
        _with_exit_codes(function, name)
    )
    return typer.main.get_command(alone)


class _WithSuggestions(TyperGroup):
    """Commands in sections; an unknown one is answered with the nearest names."""

    sections: Mapping[str, Mapping[str, Command | Group]] = SECTIONS

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write one list for each section."""
        width = max(len(name) for commands in self.sections.values() for name in commands)
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), each.summary) for name, each in commands.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the arguments begin with; fails with the nearest names for one that does not exist."""
        word = args[0]
        if word not in self.commands and not word.startswith("-") and not ctx.resilient_parsing:
            before = "" if ctx.parent is None else f"{self.name} "
            near = suggested(f"{before}{word}")
            ctx.fail(f"no command {word!r}" + (f"; did you mean {either(near)}?" if near else ""))
        return super().resolve_command(ctx, args)


def suggested(name: str) -> list[str]:
    """The commands whose names, or words of their summaries, are nearest to an unknown name.

    >>> suggested("worst-rows"), suggested("list-runs"), suggested("summarise"), suggested("judge labels")
    (['summarize'], ['runs list'], ['summarize'], ['judge rubrics'])
    """
    words = re.findall(r"\w+", name.lower())
    common = {known: _shared_words(words, f"{known} {each.summary}") for known, each in COMMANDS.items()}
    most = max(common.values())
    return nearest(name, COMMANDS) or [known for known, number in common.items() if number == most > 0][:3]


def _shared_words(words: Sequence[str], text: str) -> int:
    """How many of the words begin as one of a text does; endings may differ."""
    beginnings = {word[:5] for word in re.findall(r"\w+", text.lower())}
    return sum(word[:5] in beginnings for word in words)


class _Program(_WithSuggestions):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = _Commands(TOP)


app = typer.Typer(
    name="fastmetrics", cls=_Program, no_args_is_help=True, context_settings=AS_WIDE_AS_THE_WINDOW, **_APPEARANCE
)


def _with_exit_codes(command: Callable[..., None], name: str) -> Callable[..., None]:
    """The command, with errors turned into messages and exit codes; Typer would hide some of them."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            with unexpected_errors(FastmetricsError, typer.Exit, typer.BadParameter):
                _check_surroundings()
                cores(options.get("threads"))  # before anything is read
                quiet = bool(options.get("quiet"))
                with printed_warnings(quiet=quiet), nullcontext() if quiet else shown_progress(name):
                    command(*args, **options)
        except Stopped as stopped:
            print_error(f"{stopped.word}{_way_on(options)}")
            raise typer.Exit(stopped.code) from None
        except FastmetricsError as error:
            print_error(f"error: {message_with_options(error, command)}")
            raise typer.Exit(_code(error)) from None

    return run


def _way_on(options: Mapping[str, Any]) -> str:
    """How to go on after a signal, if anything is kept: rows beside the output, or replies in the store of calls."""
    from fastmetrics.tables.addresses import WORK_SUFFIX
    from fastmetrics.tables.resume import has_parts  # here, since help pages need none of it

    if "resume" in options and has_parts(Path(f"{str(options['output']).rstrip('/')}{WORK_SUFFIX}")):
        return "; run again with --resume to continue"
    asks = options.get("rubrics") or options.get("store") or options.get("bot") in ("full-context", "given-contexts")
    return "; run the same command again: the replies so far are in the store" if asks and "model" in options else ""


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
        echo(f"fastmetrics {__version__}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Score tables of question-answering and RAG answers at memory speed."""


def main() -> None:
    """Run the program; errors end it with a message and an exit code."""
    try:
        open_streams()  # before anything else is opened
        app(prog_name="fastmetrics")
    except BrokenPipeError:
        discard_output()
    except OSError as error:  # of a help page, which Typer prints; for what commands print, echo() takes care
        failed = error if isinstance(error, OutputError) else unprintable(error)
        print_error(f"error: {failed}")
        sys.exit(_code(failed))


def _code(error: FastmetricsError) -> int:
    codes = ((UnknownNameError, 2), (InputError, 3), (OutputError, 4), (MissingExtraError, 5), (ServiceError, 7))
    return next((code for kind, code in codes if isinstance(error, kind)), 2)
