"""Lists of names with a bar for the number of each, which templates draw without a script."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fastmetrics.base.display import number
from fastmetrics.base.errors import visible

_MOST = 15
"""Maximum number of bars: the first ones."""
_LABEL = 80
"""Maximum characters of a name."""


@dataclass(frozen=True)
class BarList:
    """Names with their numbers: the key of its title, and for each the name, the number, and its bar in percent."""

    title: str
    bars: list[tuple[str, str, float]]
    n: int
    """How many names there are, of which the first are shown."""

    @classmethod
    def of(cls, title: str, values: Iterable[tuple[Any, float]], most: int = _MOST) -> BarList | None:
        """A bar for each of the first ``most`` values, on a scale from 0 to the largest; None without any.

        >>> BarList.of("ratings", [(1, 4), (5, 8)]).bars
        [('1', '4', 50.0), ('5', '8', 100.0)]
        """
        numbers = [(str(name), value) for name, value in values]
        shown = numbers[:most]
        largest = max((abs(value) for _, value in shown), default=0.0)
        if not largest:
            return None
        bars = [(_name(name), _whole(value), round(100 * abs(value) / largest, 2)) for name, value in shown]
        return cls(title, bars, len(numbers))


def _name(name: str) -> str:
    return visible(name[:_LABEL]) + ("…" if len(name) > _LABEL else "")


def _whole(value: float) -> str:
    return number(int(value) if float(value).is_integer() else value)
