"""Allowed values of options that create something: a name, or an object such as a model or a parser."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from fastmetrics.core.settings.allowed_values import NotAllowedError


@dataclass(frozen=True)
class NameOrObject:
    """A name or an object that creates something, such as an embedder, and that can be cached by identity."""

    what: str
    kinds: tuple[type, ...] = ()
    longest: int = 10_000
    check: Callable[[str], object] | None = None
    """Raises an error for an unknown name, without creating anything."""

    def take(self, value: Any) -> Any:
        """The name, or the object."""
        is_name = isinstance(value, str) and 0 < len(value) <= self.longest
        if not (is_name or callable(value) or isinstance(value, self.kinds)) or not _is_hashable(value):
            raise NotAllowedError
        if is_name and self.check is not None:
            self.check(value)
        return value

    def __str__(self) -> str:
        return self.what


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return isinstance(value, Hashable)
