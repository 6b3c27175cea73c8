"""The syntax of lists, pairs and parameters on the command line."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastmetrics.base import input_columns as lists
from fastmetrics.base.errors import OptionError


@dataclass(frozen=True)
class FromText:
    """In the annotation of an option: the function that makes its argument from the text and the option's name.

    An option that is absent, or whose argument is None, leaves the default to the function that receives the argument.
    """

    convert: Callable[[Any, str], Any]


def split(values: list[str] | None, option: str = "") -> list[str] | None:
    """The items of a repeatable, comma-separated option; commas within brackets do not separate.  None without any.

    >>> split(["token_f1,squad_f1(version=2)", "jaccard"])
    ['token_f1', 'squad_f1(version=2)', 'jaccard']
    """
    return [piece for value in values or [] for piece in lists.split(value)] or None


def name_list(values: list[str] | None, option: str) -> list[str]:
    """The names in a repeatable, comma-separated option; as in CSV, a quoted name may contain a comma.

    >>> name_list(["id, user", '"last, first",note'], "--keep")
    ['id', 'user', 'last, first', 'note']

    Raises ``OptionError`` for a quote that is not closed.
    """
    items: list[str] = []
    for value in values or []:
        try:
            [line] = csv.reader([value], strict=True, skipinitialspace=True) if value.strip() else [[]]
        except (csv.Error, ValueError) as error:
            raise OptionError(f"{option} {value!r}: expected a line of CSV: {error}") from error
        items += [name if '"' in value else name.strip() for name in line if name.strip()]
    return items


def names(values: list[str] | None, option: str) -> list[str] | None:
    """The names of a list; None without any."""
    return name_list(values, option) or None


def divisions(values: list[str] | None, option: str) -> list[list[str]] | None:
    """The names in each list by itself; None without any."""
    return [name_list([value], option) for value in values or ()] or None


def as_given(values: list[Any] | None, option: str) -> list[Any] | None:
    """The values of a repeatable option; None without any."""
    return values or None


def pairs(values: list[str] | None, option: str = "--columns", form: str = "canonical=yours") -> dict[str, str]:
    """The pairs of a repeatable, comma-separated option, split as in ``name_list`` and then at the first ``=``.

    >>> pairs(["answer=text,reference=gold"])
    {'answer': 'text', 'reference': 'gold'}
    >>> pairs(['"answer=text, cleaned",reference=a=b'])
    {'answer': 'text, cleaned', 'reference': 'a=b'}

    Raises ``OptionError`` for an item without ``=`` and for a name given twice.
    """
    by_name: dict[str, str] = {}
    for item in name_list(values, option):
        name, equals, value = item.partition("=")
        if not equals or not name or not value:
            raise OptionError(f"{option} {item!r}: expected {form}")
        if name in by_name:
            raise OptionError(f"{option} names {name!r} twice")
        by_name[name] = value
    return by_name


def numbers(values: list[str], option: str) -> dict[str, float] | None:
    """The numbers by name; None without any."""
    texts = pairs(values, option, "METRIC=NUMBER")
    try:
        return {metric: float(text) for metric, text in texts.items()} or None
    except ValueError as error:
        raise OptionError(f"{option}: expected METRIC=NUMBER: {error}") from None


def ranges(values: list[str], option: str) -> dict[str, tuple[float, float]] | None:
    """The lowest and the highest score by axis; None without any."""
    return {axis: _range(axis, text, option) for axis, text in pairs(values, option, "AXIS=LOW:HIGH").items()} or None


def _range(axis: str, text: str, option: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise OptionError(
            f"{option} {axis}={text}: expected LOW:HIGH, the lowest and highest score, as in 1:5"
        ) from None


def call_parameters(values: list[str] | None, option: str) -> dict[str, Any] | None:
    """The parameters of calls, whose values are JSON, otherwise text; None without any.

    >>> call_parameters(["temperature=0.5", "stop=end"], "--parameters")
    {'temperature': 0.5, 'stop': 'end'}
    """
    return {name: _value(text) for name, text in pairs(values, option, "name=value").items()} or None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
