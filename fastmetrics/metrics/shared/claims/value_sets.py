"""Comparing values through sets, for rows with too many values to compare all pairs.

The rules are those of ``kernels.support``, which is faster for few values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastmetrics.kernels.values import DATE, NUMBER, TIME, WEAK, WEEKDAY, Values

HALF_DAY = 720
"""Minutes between the two readings of a 12-hour time."""


def among(answer: Values, first: int, last: int, context: Values, context_first: int, context_last: int) -> list[bool]:
    """Whether each of the values ``first:last`` is among the known ones from ``context_first`` to ``context_last``."""
    keys = {key for value in _of(context, context_first, context_last) for key in _keys(*value)}
    return [_holds(keys, *value) for value in _of(answer, first, last)]


def _of(values: Values, first: int, last: int) -> Iterator[tuple[int, float, float]]:
    columns = (values.kinds, values.a, values.b)
    return zip(*(column[first:last].tolist() for column in columns), strict=True)


def _keys(kind: int, a: float, b: float) -> list[tuple[Any, ...]]:
    """All keys that match a known value."""
    if kind in (NUMBER, WEAK):
        return [("number", a), ("number", a, b)]
    if kind == TIME:
        return [("time", a), ("either", a % HALF_DAY), *([("open", a % HALF_DAY)] if b else [])]
    if kind == WEEKDAY:
        return [("weekday", a)]
    return [
        ("date", year, month, day)
        for date in (a, b)
        if date >= 0
        for year in (date // 10000, None)
        for month in (date // 100 % 100, None)
        for day in (date % 100, None)
    ]


def _holds(keys: set[tuple[Any, ...]], kind: int, a: float, b: float) -> bool:
    if kind == NUMBER:
        return ("number", a, b) in keys or ("number", a, 0.0) in keys if b else ("number", a) in keys
    if kind == TIME:
        return ("time", a) in keys or ("either" if b else "open", a % HALF_DAY) in keys
    if kind == WEEKDAY:
        return ("weekday", a) in keys
    return kind == DATE and any(_agrees(keys, date) for date in (a, b) if date >= 0)


def _agrees(keys: set[tuple[Any, ...]], date: float) -> bool:
    """Whether a known date has all parts of this date; its year may be elsewhere."""
    year, month, day = date // 10000, date // 100 % 100 or None, date % 100 or None
    if ("date", year or None, month, day) in keys:
        return True
    return ("number", year) in keys and ("date", 0.0, month, day) in keys
