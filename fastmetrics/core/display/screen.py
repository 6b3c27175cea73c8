"""Tables on a terminal: no line is wider than the window, and verdicts are coloured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

GREEN, RED = "32", "31"
TONES = {
    **dict.fromkeys(("better", "ok", "equivalent", "not worse"), GREEN),
    **dict.fromkeys(("worse", "FAILED"), RED),
}
"""The colours of cells with these words."""

_LEAST = 4
"""The width below which the name of a row is not shortened."""


@dataclass(frozen=True)
class Screen:
    """A terminal: the width of its lines, and whether it shows colours."""

    width: int
    has_colours: bool = False

    def cell(self, text: str, padded: str) -> str:
        """A padded cell, in colour if its text is a verdict.

        >>> Screen(80, has_colours=True).cell("worse", "  worse")
        '\\x1b[31m  worse\\x1b[0m'
        """
        tone = TONES.get(text) if self.has_colours else None
        return padded if tone is None else f"\x1b[{tone}m{padded}\x1b[0m"


@dataclass(frozen=True)
class Block:
    """Columns of a table that are printed side by side: their places, widths and the spaces between."""

    places: Sequence[int]
    widths: Sequence[int]
    gap: int = 2


def blocks(widths: Sequence[int], labels: int, screen: Screen | None) -> list[Block]:
    """The columns in blocks that fit the window, each with the first ``labels`` columns, which name the rows.

    A table that nearly fits gets one space between its columns.

    >>> blocks([6, 5, 5, 5], 1, Screen(20))
    [Block(places=(0, 1, 2), widths=(6, 5, 5), gap=2), Block(places=(0, 3), widths=(6, 5), gap=2)]
    """
    everything = tuple(range(len(widths)))
    for gap in (2, 1):
        if screen is None or sum(widths) + gap * (len(widths) - 1) <= screen.width:
            return [Block(everything, tuple(widths), gap)]
    assert screen is not None
    first, others = everything[:labels], everything[labels:]
    most = max((widths[place] for place in others), default=0)
    fitted = _shortened(widths[:labels], screen.width - (2 + most) * bool(others))
    room = screen.width - sum(fitted) - 2 * (labels - 1)
    groups: list[list[int]] = [[]]
    for place in others:
        if groups[-1] and sum(widths[column] + 2 for column in (*groups[-1], place)) > room:
            groups.append([])
        groups[-1].append(place)
    return [Block((*first, *group), (*fitted, *(widths[place] for place in group))) for group in groups]


def _shortened(widths: Sequence[int], room: int) -> list[int]:
    """The widths of columns of names, the longest ones reduced until the columns fit."""
    fitted = list(widths)
    while sum(fitted) + 2 * (len(fitted) - 1) > room and max(fitted) > _LEAST:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def clipped(text: str, width: int) -> str:
    """A text of at most ``width`` characters, shortened in the middle.

    >>> clipped("runs/2026-11-24/new.parquet", 15)
    'runs/20…parquet'
    """
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :] if end else ''}"
