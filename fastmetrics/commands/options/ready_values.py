"""Arguments that have their type when they are parsed: Typer is not asked to convert them.

Typer converts with Pydantic, which takes long to import.
"""

from __future__ import annotations

import inspect
from functools import partial
from types import NoneType
from typing import Any, get_args, get_origin


class ReadyValues:
    """A command of Typer, or a group, that converts only values that do not have their type yet."""

    callback: Any

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, with those of Typer such as ``--help``."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        signature = inspect.signature(self.callback).parameters
        for param in params:
            if not isinstance(param.process_value, partial):
                kind = _item(signature[param.name].annotation) if param.name in signature else None
                param.process_value = partial(_processed, param, kind, param.process_value)
        return params


def _processed(param: Any, kind: Any, convert: Any, context: Any, value: Any) -> Any:
    is_several = param.multiple or param.nargs == -1
    values = value if is_several and isinstance(value, (list, tuple)) else (value,)
    if value is None and not param.required:
        ready: Any = () if is_several else None
    elif values and all(type(each) is kind for each in values):
        ready = value
    elif kind is float and type(value) is int:  # a default
        ready = float(value)
    else:
        return convert(context, value)
    return ready if param.callback is None else param.callback(context, param, ready)


def _item(annotation: Any) -> Any:
    """The type of a value, or of each of several, in the annotation of a parameter.

    >>> _item(str | None), _item(list[int])
    (<class 'str'>, <class 'int'>)
    """
    kind = get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
    kinds = [each for each in get_args(kind) if each is not NoneType] if NoneType in get_args(kind) else [kind]
    return _item(get_args(kinds[0])[0]) if get_origin(kinds[0]) is list else kinds[0]
