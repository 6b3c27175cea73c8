"""The notes on intervals below a table: their kinds, and those that may hold another level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fastmetrics.stats.intervals.mean_interval import NAMES

MARK = "†"
"""The mark of an interval with a note."""
_MANY = 4


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
    ways = [NAMES[kind] + (f" ({_some(list(names))})" if len(kinds) > 1 else "") for kind, names in kinds.items()]
    lines = [f"{confidence * 100:g} % intervals{of}: {', '.join(ways)}"] if ways else []
    return [*lines, *(f"{MARK} {note} ({_some(list(names))})" for note, names in notes.items())]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MANY} more" if len(names) > _MANY else ""
    return ", ".join(names[:_MANY]) + more
