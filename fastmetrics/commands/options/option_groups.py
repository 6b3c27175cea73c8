"""Groups of options: one parameter of a command's function stands for the options of a whole class of settings.

The class declares name, type, default and help text of each option, which the command does not repeat.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar

from fastmetrics.base.public_names import HOMES
from fastmetrics.commands.options.function_parameters import Before, default_of, function_options, setting_options
from fastmetrics.commands.options.option_syntax import FromText
from fastmetrics.commands.options.placeholders import with_placeholder
from fastmetrics.commands.program.printing import FORMS, check_one_form, print_result

_Mark = TypeVar("_Mark")


@dataclass(frozen=True)
class OptionsOf:
    """In the annotation of a parameter: the options of the class ``settings``.

    The command receives the settings, or under the annotation ``dict`` their values by name.
    """

    settings: type


class Arguments(dict[str, Any]):
    """All options and groups of a command by name, converted from text: what a parameter of this type receives.

    In place of the parameter stand options for the keyword-only parameters of the public function that has the name of
    the command, but for those that the command declares.  Options that are absent and whose default depends on the
    function are not in it.
    """

    def __init__(self, values: Mapping[str, Any], name: str = "") -> None:
        super().__init__(values)
        self._name = name

    def call(self, function: Callable[..., Any] | None = None, **others: Any) -> Any:
        """Call the function with those of the arguments that are parameters of it; ``others`` replace them.

        Without a function, it is the public one that has the name of the command.

        >>> Arguments({"bins": 5, "quiet": True}).call(lambda scores, bins: (scores, bins), scores="a.csv")
        ('a.csv', 5)
        """
        call = function
        if call is None:
            call = getattr(importlib.import_module(f"fastmetrics.{HOMES[self._name]}"), self._name)
        parameters = inspect.signature(call).parameters.values()
        names = [each.name for each in parameters if each.kind is not inspect.Parameter.VAR_KEYWORD]
        return call(**{name: self[name] for name in names if name in self} | others)


def flat(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with each group replaced by its options, as Typer reads them off a signature.

    It converts the options from text, loads the files of ``--plugin``, and prints what the command returns.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Colours:
    ...     ink: str = "black"
    >>> def show(text: str, *, colours: Colours, arguments: Arguments) -> None:
    ...     print(text, colours, sorted(arguments))
    >>> list(inspect.signature(flat(show)).parameters)
    ['text', 'ink']
    >>> flat(show)(text="a", ink="red")
    a Colours(ink='red') ['colours', 'ink', 'text']
    """
    hints = typing.get_type_hints(command, include_extras=True)
    options: dict[str, list[inspect.Parameter]] = {}
    groups: dict[str, Callable[..., Any]] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        make, group = _group(hints[name])
        groups |= {name: make} if make is not None else {}
        options[name] = [parameter.replace(annotation=hints[name])] if make is None else group
    declared = {*options, *(option.name for group in options.values() for option in group)}
    handed_over = [name for name in options if hints[name] is Arguments]
    has_function = command.__name__ in HOMES
    options |= {
        name: list(function_options(command.__name__, declared)) if has_function else [] for name in handed_over
    }
    parameters = [
        option.replace(annotation=with_placeholder(option.annotation)) for group in options.values() for option in group
    ]
    for name, group in options.items():
        for mark in _marks(hints[name], Before):
            moved = {option.name for option in group}
            others = [option for option in parameters if option.name not in moved]
            place = [option.name for option in others].index(mark.option)
            parameters = [*others[:place], *(option for option in parameters if option.name in moved), *others[place:]]

    @functools.wraps(command)
    def run(**texts: Any) -> None:
        forms = [form for form in FORMS if form in texts]
        check_one_form(forms, texts)
        load_plugins(texts.get("plugin"))
        arguments = dict(_converted(parameters, texts))
        grouped = {
            name: make(**{option.name: arguments[option.name] for option in options[name] if option.name in arguments})
            for name, make in groups.items()
        }
        own = {name: arguments.get(name) for name in hints if name in texts}
        everything = dict.fromkeys(handed_over, Arguments(arguments | grouped, command.__name__))
        print_result(command(**own, **grouped, **everything), {form: texts[form] for form in forms})

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _converted(parameters: list[inspect.Parameter], texts: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments by name; without those that are left to the function behind."""
    for parameter in parameters:
        if parameter.name in texts:
            value, option = texts[parameter.name], "--" + parameter.name.replace("_", "-")
            marks = _marks(parameter.annotation, FromText)
            converted = marks[0].convert(value, option) if marks and value is not None else value
            if not marks or converted is not None:
                yield parameter.name, converted.value if isinstance(converted, Enum) else converted


def _group(hint: Any) -> tuple[Callable[..., Any] | None, list[inspect.Parameter]]:
    """What the command receives for a group, and its options; neither for a parameter that is no group."""
    if is_dataclass(hint) and isinstance(hint, type):
        hints, keyword = typing.get_type_hints(hint, include_extras=True), inspect.Parameter.KEYWORD_ONLY
        return hint, [
            inspect.Parameter(field.name, keyword, default=default_of(field), annotation=hints[field.name])
            for field in fields(hint)
        ]
    marks = _marks(hint, OptionsOf)
    if not marks:
        return None, []
    return typing.get_origin(typing.get_args(hint)[0]) or marks[0].settings, list(setting_options(marks[0].settings))


def _marks(hint: Any, kind: type[_Mark]) -> list[_Mark]:
    """The marks of a kind in an annotation."""
    return [mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, kind)]


def load_plugins(paths: list[str] | None) -> None:
    """Load the files that ``--plugin`` names."""
    from fastmetrics.metrics.plugins import load_plugin

    for path in paths or ():
        load_plugin(path)
