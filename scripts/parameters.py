"""Write the lists of parameters in the docstrings of functions: in their order, with the texts of options.

    python -m scripts.parameters [--check]

A function with a command has the list of its parameters in its docstring, from ``Parameters:`` on.  Most texts stand
there only, and the command reads them.  The text of a parameter for which the command declares an option itself is that
option's help text.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path

import typer.models

import fastmetrics as fm
from fastmetrics.cli.commands import all_commands
from fastmetrics.cli.options import ENTRY, HEAD, parameter_texts

ROOT = Path(__file__).resolve().parents[1]
FEW = 6
"""Functions with so few parameters describe them in their text."""


def help_texts(command: str) -> dict[str, str]:
    """The help text of each option of a command, by the name of its parameter."""
    function = all_commands()[command]
    hints = typing.get_type_hints(function, include_extras=True)
    texts = {}
    for name in inspect.signature(function).parameters:
        info = next(mark for mark in hints[name].__metadata__ if isinstance(mark, typer.models.ParameterInfo))
        if isinstance(info, typer.models.OptionInfo) and info.help:
            texts[name] = info.help
    return texts


def commands() -> Iterator[tuple[str, str]]:
    """The commands that have a function of their name, and its name."""
    for command in all_commands():
        name = command.replace("-", "_")
        if name in fm.HOMES:
            yield command, name


def with_list(docstring: str, parameters: list[str], texts: Mapping[str, str]) -> str:
    """The docstring with the list of its parameters; a new list stands before the first example."""
    texts = {**{name: _sentence(text) for name, text in parameter_texts(docstring).items()}, **texts}
    before, listed, after = docstring.partition(HEAD)
    if listed:
        end = max((match.end() for match in ENTRY.finditer(after)), default=0)
        before, after = before.rstrip(" "), after[end:].lstrip("\n")
    else:
        place = docstring.index("    >>> ")
        before, after = docstring[:place], docstring[place:]
    lines = "".join(
        textwrap.fill(
            f"- ``{name}``: {texts.get(name, '')}".rstrip(),
            120,
            initial_indent="    ",
            subsequent_indent="      ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        + "\n"
        for name in parameters
    )
    return f"{before}{'    ' if before.endswith(chr(10)) else ''}{HEAD}{lines}\n{after}"


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else f"{text}."


def page(name: str, texts: Mapping[str, str]) -> tuple[Path, str]:
    """The file of a public function, and its text with the list of the function's parameters."""
    path = ROOT / "fastmetrics" / Path(*fm.HOMES[name].split(".")).with_suffix(".py")
    source = path.read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            literal = ast.get_source_segment(source, node.body[0]) or ""
            options = [node.args.kwarg] if node.args.kwarg is not None else []
            parameters = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs, *options)]
            if len(parameters) > FEW or HEAD in literal:
                source = source.replace(literal, with_list(literal, parameters, texts))
    return path, source


def main() -> None:
    """The command line."""
    stale = False
    for command, name in commands():
        path, text = page(name, help_texts(command))
        if path.read_text(encoding="utf-8") != text:
            stale = True
            state = "out of date; run python -m scripts.parameters" if _checks() else "written"
            print(f"{path.relative_to(ROOT)}: {state}")
            if not _checks():
                path.write_text(text, encoding="utf-8")
    sys.exit(int(stale and _checks()))


def _checks() -> bool:
    return "--check" in sys.argv[1:]


if __name__ == "__main__":
    main()
