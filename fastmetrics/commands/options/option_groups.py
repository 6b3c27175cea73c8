"""Groups of options: one parameter of a command's function stands for the options of a whole class of settings.

The class declares name, type, default and help text of each option, which the command does not repeat.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_syntax import call_parameters, split
from fastmetrics.core.setting_descriptions import descriptions


@dataclass(frozen=True)
class OptionsOf:
    """In the annotation of a parameter: the values of the options of ``settings``, by their names.

    The command makes the settings from them: ``FileSettings(**files)``.
    """

    settings: type


_FROM_TEXT: dict[str, tuple[Any, Callable[[Any], Any] | None]] = {
    "parameters": (list[str] | None, call_parameters),
    "retry": (list[str] | None, split),
    "store": (Path | None, None),
    "work": (Path | None, None),
    "prices": (str | None, None),
}
"""The types of options whose settings have types that a command line has not, and their conversion."""

_NO_OPTIONS = frozenset({"pause"})
"""Settings that only tests change."""


def flat(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with each group replaced by its options, as Typer reads them off a signature.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Colours:
    ...     ink: Annotated[str, typer.Option(help="The colour of the text.")] = "black"
    >>> def show(text: str, *, colours: Colours) -> None:
    ...     print(text, colours)
    >>> list(inspect.signature(flat(show)).parameters)
    ['text', 'ink']
    >>> flat(show)(text="a", ink="red")
    a Colours(ink='red')
    """
    hints = typing.get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        make, options = _group(hints[name])
        groups |= {name: (make, [option.name for option in options])} if make is not None else {}
        parameters += options if make is not None else [parameter.replace(annotation=hints[name])]
    if not groups:
        return command

    @functools.wraps(command)
    def run(**values: Any) -> Any:
        groups_of_values = {
            name: make(**{key: values.pop(key) for key in keys}) for name, (make, keys) in groups.items()
        }
        return command(**values, **groups_of_values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _group(hint: Any) -> tuple[Callable[..., Any] | None, list[inspect.Parameter]]:
    """What the command receives for a group, and its options; neither for a parameter that is no group."""
    if is_dataclass(hint) and isinstance(hint, type):
        return hint, [
            _parameter(field, annotation) for field, annotation in zip(fields(hint), _annotations(hint), strict=True)
        ]
    marks = [mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, OptionsOf)]
    if not marks:
        return None, []
    return _values, list(_options(marks[0].settings))


def _annotations(group: type) -> list[Any]:
    hints = typing.get_type_hints(group, include_extras=True)
    return [hints[field.name] for field in fields(group)]


def _options(settings: type) -> Iterator[inspect.Parameter]:
    """The options of a class of settings, each with the description of its field."""
    helps, hints = descriptions(settings), typing.get_type_hints(settings)
    for field in fields(settings):
        if field.name in _NO_OPTIONS:
            continue
        kind, convert = _FROM_TEXT.get(field.name, (hints[field.name], None))
        flag = "--" + field.name.replace("_", "-")
        if kind is bool:
            flag += f"/--no-{flag[2:]}" if field.default else ""
        option = _parameter(field, Annotated[kind, typer.Option(flag, help=helps[field.name])])
        yield option if convert is None else option.replace(default=None)


def _parameter(field: Field[Any], annotation: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _values(**options: Any) -> dict[str, Any]:
    """The values of settings, converted from text."""
    converters = {name: convert for name, (_, convert) in _FROM_TEXT.items() if convert is not None}
    return {name: converters[name](value) if name in converters else value for name, value in options.items()}
