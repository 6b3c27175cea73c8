"""Notes on figures: an id and values, whose text stands once, in ``notes.toml``, and the signs beside figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

from fastmetrics.base.errors import some

MARK = "†"
"""The sign of a figure whose note says that its interval or p may be too sure, or is not there."""


@cache
def _texts() -> dict[str, tuple[str, str]]:
    """The group and the text of each note."""
    import tomllib

    groups = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {name: (group, text) for group, texts in groups.items() for name, text in texts.items()}


class _Words(Formatter):
    """Texts with counted nouns, ``{n:row}``, their verbs, ``{n:is|are}``, and lists, ``{names:4}`` the first of one."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if "|" in format_spec:
            return format_spec.split("|")[value != 1]
        if format_spec.replace(" ", "").isalpha() and len(format_spec) > 1:
            return f"{value:,} {format_spec}{'s' * (value != 1)}"
        if isinstance(value, list | tuple | dict):
            return some(value, int(format_spec)) if format_spec else ", ".join(map(str, value))
        return str(super().format_field(value, format_spec))


class Note(str):
    """A note: its ``id``, ``values`` and ``group``; as text it reads as ``notes.toml`` has it.

    >>> found = Note("few", least=20, what="rows")
    >>> found, found.id, found.values, found.mark
    ('approximate: fewer than 20 rows', 'few', {'least': 20, 'what': 'rows'}, '†')
    >>> Note("few_differ").mark
    ''
    >>> Note("left_out", n=1, why="a question"), Note("left_out", n=2000, why="a question")
    ('1 row without a question left out', '2,000 rows without a question left out')
    """

    id: str
    values: dict[str, Any]
    group: str
    """approximate, none (no interval), safe (wider than its level needs), plain, or method (how figures were made)."""

    def __new__(cls, id: str, /, **values: Any) -> Note:
        group, text = _texts()[id]
        note = super().__new__(cls, _Words().vformat(text, (), values))
        note.id, note.values, note.group = id, values, group
        return note

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.id,), self.values

    @property
    def mark(self) -> str:
        """The sign beside the figure: † unless the interval is only wider than it needs."""
        return MARK if self.group in ("approximate", "none") else ""


class Figure(NamedTuple):
    """A row of the record of a result: a figure, with its interval, the number of rows behind it and its note."""

    figure: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    kind: str = "none"
    """The kind of interval: a key of :data:`NAMES`."""
    note: str | None = None
    n: int | None = None
    system: str | None = None
    segment: str | None = None

    @classmethod
    def of(cls, figure: str, found: Any, **keys: Any) -> Figure:
        """The row of an estimate, of a dataclass with bounds, or of a note alone.

        >>> Figure.of("f1", Note("few_differ")).note
        'wider than its level needs: few rows differ'
        """
        kind, note = told(found)
        value = next((getattr(found, name) for name in ("value", "mean", "delta") if hasattr(found, name)), math.nan)
        own = {name: getattr(found, name) for name in ("low", "high", "n", "segment") if hasattr(found, name)}
        return cls(figure, **{"value": value, **own, "kind": kind, "note": note, **keys})


def said(*notes: Any) -> list[str]:
    """The notes that there are: what is false is none, and a list is its notes.

    >>> said(0 and Note("few_differ"), None, ["a", "b"], Note("wider"))
    ['a', 'b', 'wider than its level needs']
    """
    return [one for part in notes if part for one in ([part] if isinstance(part, str) else part)]


def weighty_first(notes: Iterable[str]) -> list[str]:
    """The notes on how figures were made behind those that a reader must know.

    >>> weighty_first([Note("margin", margin=0.1), Note("wider")])[0]
    'wider than its level needs'
    """
    return sorted(notes, key=lambda note: getattr(note, "group", "") == "method")


def joined(first: str | None, second: str | None) -> str | None:
    """The notes on two parts of a figure as one; None without any.

    >>> joined(None, Note("few_differ")).id, joined(Note("one_label"), Note("few_differ")).mark
    ('few_differ', '†')
    """
    if first is None or second is None or first == second:
        return second if first is None else first
    return Note("both" if mark_of(first) or mark_of(second) else "both_safe", first=first, second=second)


def mark_of(note: str | None) -> str:
    """The sign of a figure with this note; without one, none.

    >>> mark_of(None), mark_of(Note("no_spread", least=2, what="rows"))
    ('', '†')
    """
    return "" if note is None else getattr(note, "mark", MARK)


# The notes below a table on the intervals in it: their kinds, and those that may hold another level.


NAMES: Mapping[str, str] = {
    "skew_t": "t widened for skewness",
    "exact": "exact for scores of 0 and 1",
    "adjusted": "adjusted for scores of 0 and 1",
    "bounded": "the worst case within the bounds",
    "worst_case": "the worst case of what was not seen",
    "t": "Student's t",
    "percentile": "percentile bootstrap",
    "welch": "Welch's t",
    "combined": "the combined intervals of both runs",
    "normal": "normal approximation",
    "order": "order statistics",
    "none": "none",
}
"""The kinds of intervals in words."""

_MANY = 4


def told(figure: Any) -> tuple[str, str | None]:
    """The kind of the interval of a figure, and the note on it; of a note alone, no kind."""
    if figure is None or isinstance(figure, str):
        return "none", figure
    kind, note = (
        getattr(figure, own, getattr(figure, other, None))
        for own, other in (("kind", "interval"), ("note", "interval_note"))
    )
    return kind or "none", note


def interval_notes(record: Iterable[Figure], confidence: float, of: str = "") -> list[str]:
    """The notes on the intervals of figures, each with the names of its figures.

    >>> few, none = (Figure.of(name, Note(note)) for name, note in (("f1", "few_differ"), ("em", "no_bounds")))
    >>> interval_notes([few, none], 0.95)[0]
    'wider than its level needs: few rows differ (f1)'
    """
    kinds: dict[str, dict[str, None]] = {}
    notes: dict[str, dict[str, None]] = {}
    for row in record:
        if row.kind != "none":
            kinds.setdefault(row.kind, {})[row.figure] = None
        if row.note is not None:
            notes.setdefault(row.note, {})[row.figure] = None
    ways = [NAMES[kind] + (f" ({some(names, _MANY)})" if len(kinds) > 1 else "") for kind, names in kinds.items()]
    lines = said(ways and Note("intervals", level=confidence * 100, of=of, kinds=ways))
    marks = {note: f"{mark_of(note)} ".lstrip() for note in notes}
    return [*lines, *(Note("of_figures", mark=marks[note], note=note, names=names) for note, names in notes.items())]
