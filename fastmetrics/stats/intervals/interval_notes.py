"""Intervals as text, and the notes on them below a table: their kinds, and those that may hold another level."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from fastmetrics.base.display import number
from fastmetrics.base.errors import some
from fastmetrics.stats.intervals.mean_interval import NAMES

MARK = "†"
"""The mark of an interval with a note."""
_MANY = 4


def interval_text(low: float, high: float, note: str | None, text: Callable[[float], str] = number) -> str:
    """The bounds of an interval, marked if there is a note on it; – without an interval.

    >>> interval_text(0.25, 0.5, None), interval_text(math.nan, math.nan, "too few rows")
    ('[0.2500, 0.5000]', '–†')
    """
    bounds = "–" if math.isnan(low) else f"[{text(low)}, {text(high)}]"
    return bounds + ("" if note is None else MARK)


def interval_notes(intervals: Iterable[tuple[str, str, str | None]], confidence: float, of: str = "") -> list[str]:
    """The notes on intervals, given as the name of a metric, the kind of interval and its note.

    >>> interval_notes([("f1", "skew_t", None), ("em", "exact", "conservative: few rows")], 0.95)
    ['95 % intervals: t widened for skewness (f1), exact for scores of 0 and 1 (em)', '† conservative: few rows (em)']
    """
    kinds: dict[str, dict[str, None]] = {}
    notes: dict[str, dict[str, None]] = {}
    for name, kind, note in intervals:
        if kind != "none":
            kinds.setdefault(kind, {})[name] = None
        if note is not None:
            notes.setdefault(note, {})[name] = None
    ways = [NAMES[kind] + (f" ({some(names, _MANY)})" if len(kinds) > 1 else "") for kind, names in kinds.items()]
    lines = [f"{confidence * 100:g} % intervals{of}: {', '.join(ways)}"] if ways else []
    return [*lines, *(f"{MARK} {note} ({some(names, _MANY)})" for note, names in notes.items())]
