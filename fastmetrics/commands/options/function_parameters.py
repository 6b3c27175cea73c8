"""The options of a command that are parameters of its function or fields of settings, with their types and defaults.

Those of a function are read from its source.  Importing it would load NumPy, Arrow and Numba, which takes up to a
second and which help pages and completion do without.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from enum import StrEnum
from functools import partial
from importlib.resources import files
from typing import Annotated, Any

import typer

from fastmetrics.base.options import descriptions
from fastmetrics.base.public_names import HOMES
from fastmetrics.commands.options.option_syntax import (
    FromText,
    as_given,
    call_parameters,
    name_list,
    names,
    numbers,
    pairs,
    ranges,
    split,
)


@dataclass(frozen=True)
class Before:
    """In the annotation of a parameter of a command: the option of its function before which its options stand."""

    option: str


@dataclass(frozen=True)
class _Spelling:
    """How an argument is written on the command line, where the type of its parameter does not say it."""

    placeholder: str | None = None
    convert: Callable[[Any, str], Any] | None = None
    short: str | None = None
    least: int | None = None


SPELLINGS = {
    "better": _Spelling("NAME=lower|higher,...", partial(pairs, form="NAME=lower or NAME=higher")),
    "bootstrap": _Spelling(least=1),
    "by": _Spelling("COLUMN,...", names),
    "cache": _Spelling("FOLDER"),
    "columns": _Spelling("NAME=YOURS,...", pairs),
    "depth": _Spelling(short="-M"),
    "keep": _Spelling("COLUMN,...", name_list),
    "lists": _Spelling("COLUMN,...", names),
    "metrics": _Spelling("METRIC,...", split, "-m"),
    "output": _Spelling("PATH", short="-o"),
    "parameters": _Spelling(convert=call_parameters),
    "ranges": _Spelling(convert=ranges),
    "relevance_level": _Spelling(short="-l"),
    "resamples": _Spelling(least=1),
    "retry": _Spelling(convert=split),
    "runs": _Spelling("FOLDER"),
    "samples": _Spelling(short="-n"),
    "store": _Spelling("PATH"),
    "suites": _Spelling("SUITE,...", split),
    "sweep": _Spelling(convert=as_given),
    "tests": _Spelling("TEST,...", split),
    "texts": _Spelling(convert=as_given),
    "thresholds": _Spelling(convert=numbers),
    "usage": _Spelling(convert=as_given),
    "work": _Spelling("PATH"),
}
"""By the name of the parameter."""
HEAD = "Parameters:\n\n"
"""What a list of parameters in a docstring begins with."""
ENTRY = re.compile(r"^( *)- ``(\w+)``: (.*(?:\n\1  .+)*)(?:\n|$)", re.MULTILINE)
"""A parameter in such a list: indentation, name and text."""
_TYPES = {"bool": bool, "int": int, "float": float}


def parameter_texts(docstring: str) -> dict[str, str]:
    r"""The text of each parameter in the list of a docstring.

    >>> parameter_texts("Add.\n\nParameters:\n\n- ``a``: The first\n  number.\n- ``b``: The second.\n")
    {'a': 'The first number.', 'b': 'The second.'}
    """
    listed = docstring.partition(HEAD)[2]
    return {name: " ".join(text.split()) for _, name, text in ENTRY.findall(listed)}


def function_options(name: str, declared: Container[str]) -> Iterator[inspect.Parameter]:
    """The options for the keyword-only parameters of a public function, in their order, but for those declared.

    A parameter without a text in the docstring, and one for a function, is no option.
    """
    *folders, module = HOMES[name].split(".")
    source = files("fastmetrics").joinpath(*folders, f"{module}.py").read_text(encoding="utf-8")
    function = next(node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == name)
    texts = parameter_texts(ast.get_docstring(function) or "")
    for parameter, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        annotation = "" if parameter.annotation is None else ast.unparse(parameter.annotation)
        if parameter.arg in texts and parameter.arg not in declared and "Callable" not in annotation:
            value = inspect.Parameter.empty if default is None else ast.literal_eval(default)
            yield _option(parameter.arg, annotation, value, texts[parameter.arg])


def setting_options(settings: type) -> Iterator[inspect.Parameter]:
    """The options of a class of settings, each with the description of its field."""
    texts = descriptions(settings)
    for field in fields(settings):
        if field.name not in _NO_OPTIONS:
            yield _option(field.name, str(field.type), default_of(field), texts[field.name])


def default_of(field: Field[Any]) -> Any:
    """The default of a field, as that of a parameter."""
    return inspect.Parameter.empty if field.default is MISSING else field.default


_NO_OPTIONS = frozenset({"pause"})
"""Settings that only tests change."""


def _option(name: str, annotation: str, default: Any, text: str) -> inspect.Parameter:
    """The option for a parameter with this annotation, default and text."""
    kind = annotation.removesuffix(" | None")
    spelling = SPELLINGS.get(name, _Spelling(convert=names if kind.startswith("Sequence[str]") else None))
    flag = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
    flag += f"/--no-{flag[2:]}" if kind == "bool" and default else ""
    flags = [flag] if spelling.short is None else [flag, spelling.short]
    marks: list[Any] = [typer.Option(*flags, help=text, metavar=spelling.placeholder, min=spelling.least)]
    accepted: Any = _TYPES.get(kind, str)
    if spelling.convert is not None:
        accepted, default = list[str], None
        marks += [FromText(spelling.convert)]
    elif kind.startswith("Literal["):
        accepted = _choice(ast.literal_eval(kind.removeprefix("Literal")))
        default = accepted(default) if isinstance(default, str) else default
    accepted = accepted | None if default is None else accepted
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[(accepted, *marks)]
    )


def _choice(values: Sequence[str]) -> Any:
    """The type of an option that takes one of the values."""
    kind: Any = StrEnum
    return kind("Choice", {value: value for value in values})
