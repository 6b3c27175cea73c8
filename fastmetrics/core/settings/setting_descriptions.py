"""Classes of settings: each field is declared once, with its default and its description.

The description is the field's line in the documentation of the class, and the help text of its option.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

_HELP = "help"
_T = TypeVar("_T")


def about(description: str) -> Mapping[str, Any]:
    """The metadata of a field: ``rpm: float = field(default=60.0, metadata=about("Requests per minute."))``."""
    return {_HELP: description}


def descriptions(settings: Any) -> dict[str, str]:
    """The description of each field that has one, in the order of the arguments of the class.

    >>> from dataclasses import dataclass, field
    >>> @dataclass
    ... class Wait:
    ...     seconds: float = field(default=1.0, metadata=about("Seconds to wait."))
    >>> descriptions(Wait)
    {'seconds': 'Seconds to wait.'}
    """
    ordered = sorted(fields(settings), key=lambda field: field.kw_only is True)
    return {field.name: field.metadata[_HELP] for field in ordered if _HELP in field.metadata}


def with_parameters(settings: type[_T]) -> type[_T]:
    """A class whose docstring lists the descriptions of its fields, in place of the line ``{parameters}``."""
    listed = "\n".join(f"    - ``{name}``: {text}" for name, text in descriptions(settings).items())
    settings.__doc__ = (settings.__doc__ or "").replace("    {parameters}", f"    Parameters:\n\n{listed}")
    return settings
