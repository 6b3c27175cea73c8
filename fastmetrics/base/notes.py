"""Notes on figures: an id and values, whose text stands once, in ``notes.toml``, and the signs beside figures."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

MARK = "†"
"""The sign of a figure whose note says that its interval or p may be too sure, or is not there."""


@cache
def _texts() -> dict[str, tuple[str, str]]:
    """The group and the text of each note."""
    import tomllib

    groups = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {name: (group, text) for group, texts in groups.items() for name, text in texts.items()}


class Note(str):
    """A note: its ``id``, ``values`` and ``group``; as text it reads as ``notes.toml`` has it.

    >>> found = Note("few", least=20, what="rows")
    >>> found, found.id, found.values, found.mark
    ('approximate: fewer than 20 rows', 'few', {'least': 20, 'what': 'rows'}, '†')
    >>> Note("few_differ").mark
    ''
    """

    id: str
    values: dict[str, Any]
    group: str
    """``approximate``, ``none`` (no interval), ``safe`` (wider than its level needs) or ``plain``."""

    def __new__(cls, id: str, /, **values: Any) -> Note:
        group, text = _texts()[id]
        note = super().__new__(cls, text.format(**values))
        note.id, note.values, note.group = id, values, group
        return note

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.id,), self.values

    @property
    def mark(self) -> str:
        """The sign beside the figure: † unless the note is safe or plain."""
        return MARK if self.group in ("approximate", "none") else ""


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

    >>> mark_of(None), mark_of(Note("no_bounds"))
    ('', '†')
    """
    return "" if note is None else getattr(note, "mark", MARK)
