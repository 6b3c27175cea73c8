"""What was found out about one object beside others, remembered by the identity of those."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Memo:
    """Results by what was asked and which objects it was asked of; the objects live as long as their results.

    An object's id is its own only while it lives, so a result holds the objects that it was found for.

    >>> memo, words = Memo(), ["a", "b"]
    >>> memo.of("length", (words,), lambda: len(words)), memo.of("length", (words,), lambda: 0)
    (2, 2)
    """

    def __init__(self) -> None:
        self._found: dict[tuple[Hashable, ...], tuple[tuple[object, ...], Any]] = {}

    def holds(self, what: Hashable, beside: tuple[object, ...] = ()) -> bool:
        """Whether the result is known."""
        return (what, *map(id, beside)) in self._found

    def of(self, what: Hashable, beside: tuple[object, ...], make: Callable[[], T]) -> T:
        """What ``make`` returned the first time that ``what`` was asked of these objects."""
        key = (what, *map(id, beside))
        if key not in self._found:
            self._found[key] = beside, make()
        result: T = self._found[key][1]
        return result
