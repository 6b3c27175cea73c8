"""How the result of a command is printed: as a table, or in the form that one of the options names."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import typer

from fastmetrics.base.errors import OptionError
from fastmetrics.base.progress import hide_progress
from fastmetrics.commands.program.terminal import echo

FORMS = ("as_json", "as_markdown", "as_latex")
"""The parameters of commands that choose a form: ``--json``, ``--markdown``, ``--latex``."""


@dataclass(frozen=True)
class ResultOfCheck:
    """A result that the command prints, to exit with code 1 if it is not ``passed``."""

    result: Any
    passed: bool


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
        print_result(result.result, chosen)
        if not result.passed:
            raise typer.Exit(1)
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
