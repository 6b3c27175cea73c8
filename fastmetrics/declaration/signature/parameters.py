"""Parsing the signature of a declared function: columns, their representations, and options."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from fastmetrics.base.errors import UnknownNameError
from fastmetrics.base.input_columns import COLUMNS
from fastmetrics.base.options import Allowed, description_of
from fastmetrics.declaration.batch import Need
from fastmetrics.declaration.signature.plain_python import ArrowIn, ValuesIn, by_array, by_row, need_of, option_of


@dataclass(frozen=True)
class Parameters:
    """The columns a function reads, the optional ones, and the defaults and allowed values of its options.

    ``call`` takes the columns in the representations of ``needs``; ``grouped`` means that it receives all references at
    once.
    """

    call: Callable[..., Any]
    needs: Mapping[str, Need]
    optional: frozenset[str]
    defaults: Mapping[str, Any]
    allowed: Mapping[str, Allowed]
    descriptions: Mapping[str, str]
    grouped: bool


def parameters(function: Callable[..., Any], bounds: tuple[float, float]) -> Parameters:
    """Parse the signature.

    Raises ``UnknownNameError`` for a parameter that is not a column, ``TypeError`` for an unsupported annotation.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    needs: dict[str, Need] = {}
    optional, defaults = set(), {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in hints:
            raise TypeError(f"{function.__name__}: the parameter {name!r} has no annotation")
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            defaults[name] = parameter.default
            continue
        if name not in COLUMNS:
            raise UnknownNameError.of("column", name, COLUMNS)
        needs[name] = _need(hints[name], name)
        if parameter.default is None:
            optional.add(name)
    if not needs:
        raise TypeError(f"{function.__name__}: expected a positional parameter that names a column, such as answer")
    for need in list(needs.values()):
        for column, hint in getattr(need, "columns", {}).items():
            if column not in needs:
                needs[column] = _need(hint, column)
                optional.add(column)
        if hasattr(need, "options"):
            hints = {**typing.get_type_hints(need.options, include_extras=True), **hints}
            defaults = {**defaults, **{setting.name: setting.default for setting in fields(need.options)}, **defaults}
    reference = needs.get("reference")
    return Parameters(
        call=_callable(function, hints, needs, [name for name in needs if name not in optional], bounds),
        needs=needs,
        optional=frozenset(optional),
        defaults=defaults,
        allowed={name: option_of(hints[name]) for name in defaults},
        descriptions={name: description_of(hints[name]) for name in defaults},
        grouped=isinstance(reference, ValuesIn) and reference.lists,
    )


def _callable(
    function: Callable[..., Any],
    hints: Mapping[str, Any],
    needs: Mapping[str, Need],
    required: list[str],
    bounds: tuple[float, float],
) -> Callable[..., Any]:
    """The function over a batch, for every supported form of function."""
    kinds = {type(need) for need in needs.values()}
    if kinds == {ValuesIn}:
        return by_row(function, required, bounds)
    if kinds == {ArrowIn}:
        return by_array(function, bounds)
    if kinds & {ValuesIn, ArrowIn}:
        raise TypeError(f"{function.__name__}: expected all columns in one form: Python values, or Arrow arrays")
    own = inspect.signature(function).parameters
    if set(own) >= {*hints} - {"return"} | {*needs}:
        return function

    @functools.wraps(function)
    def call(*columns: Any, **arguments: Any) -> Any:
        return function(*columns, **{name: value for name, value in arguments.items() if name in own})

    call.__annotations__ = dict(hints)
    return call


def _need(hint: Any, column: str) -> Need:
    for candidate in (hint, *typing.get_args(hint)):
        if hasattr(candidate, "__metadata__"):
            need: Need = candidate.__metadata__[0]
            return need
    plain = need_of(hint, column)
    if plain is None:
        raise TypeError(f"{column}: expected str, float, int, bool, list or pyarrow.Array, got {hint}")
    return plain
