"""The placeholder of an option in help pages and docs: what to write after it, in words that a reader knows."""

from __future__ import annotations

import copy
import types
import typing
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer.models

_PLACEHOLDERS = {int: "N", float: "NUMBER", Path: "PATH"}


def with_placeholder(annotation: Any) -> Any:
    """The annotation of an option, with a placeholder by its type unless it declares one; others are unchanged.

    >>> import typer
    >>> option = with_placeholder(Annotated[int | None, typer.Option("--bins")])
    >>> option.__metadata__[0].metavar
    'N'
    """
    kind, *marks = typing.get_args(annotation) or (annotation,)
    place = next((place for place, mark in enumerate(marks) if isinstance(mark, typer.models.OptionInfo)), None)
    if place is None or marks[place].metavar is not None:
        return annotation
    marks[place] = copy.copy(marks[place])
    marks[place].metavar = _placeholder(kind)
    return Annotated[(kind, *marks)]


def _placeholder(kind: Any) -> str | None:
    """The placeholder of a type; None for an option that takes no value."""
    if kind is bool:
        return None
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return _placeholder(typing.get_args(kind)[0])
    if typing.get_origin(kind) is list:
        return _placeholder(typing.get_args(kind)[0])
    if issubclass(kind, Enum):
        return "|".join(each.value for each in kind)
    return _PLACEHOLDERS.get(kind, "TEXT")
