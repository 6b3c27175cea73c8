"""Columns that a metric outside the package declares for itself."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from typing import Any

from fastmetrics.base.errors import PluginError
from fastmetrics.base.input_columns import BUILT_IN, COLUMNS, Column

_KINDS: Mapping[Any, str] = {str: "text", int: "number", float: "number", bool: "flag"}
_LIST_KINDS: Mapping[Any, str] = {str: "ids", int: "numbers", float: "numbers"}
"""The kinds of columns by their annotation, as a value and as the items of a list; all others may hold anything."""


def declare_columns(function: Callable[..., Any], meanings: Mapping[str, str]) -> None:
    """Add the columns with these meanings, whose kinds the annotations of the function's parameters tell.

    Raises ``PluginError`` for a name that is no parameter or that a column of the package has, for one with capitals,
    and for a column that another metric declares with another kind.
    """
    if not meanings:
        return
    hints = typing.get_type_hints(function)
    for name, meaning in meanings.items():
        where = f"metric {function.__name__}: the column {name!r}"
        if name not in hints or name != name.lower():
            raise PluginError(f"{where}: expected the name of a parameter, in lower case")
        aliases = {alias: column.name for column in COLUMNS.values() for alias in column.aliases}
        if name in BUILT_IN or name in aliases:
            raise PluginError(f"{where} is {aliases.get(name, name)!r} of every table; leave it out")
        declared = Column(name, _kind(hints[name]), meaning)
        other = COLUMNS.setdefault(name, declared)
        if other.kind != declared.kind:
            raise PluginError(f"{where} is read by another metric as {other.kind}, not as {declared.kind}")


def _kind(hint: Any) -> str:
    kinds = [kind for kind in (typing.get_args(hint) or (hint,)) if kind is not type(None)]
    listed = next((kind for kind in (hint, *kinds) if typing.get_origin(kind) is list), None)
    if listed is not None:
        return _LIST_KINDS.get(typing.get_args(listed)[0], "any")
    return _KINDS.get(kinds[0], "any")
