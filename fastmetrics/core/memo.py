"""A cache of results by the identity of the objects they were computed from."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Memo:
    """Results by key and objects; the cache keeps the objects alive.

    An object's id is unique only while it lives, so a result holds references to its objects.

    >>> memo, words = Memo(), ["a", "b"]
    >>> memo.of("length", (words,), lambda: len(words)), memo.of("length", (words,), lambda: 0)
    (2, 2)
    """

    def __init__(self) -> None:
        self._values: dict[tuple[Hashable, ...], tuple[tuple[object, ...], Any]] = {}

    def holds(self, what: Hashable, beside: tuple[object, ...] = ()) -> bool:
        """Whether the result is cached."""
        return (what, *map(id, beside)) in self._values

    def of(self, what: Hashable, beside: tuple[object, ...], make: Callable[[], T]) -> T:
        """The cached result of ``make`` for ``what`` and these objects."""
        key = (what, *map(id, beside))
        if key not in self._values:
            self._values[key] = beside, make()
        result: T = self._values[key][1]
        return result
