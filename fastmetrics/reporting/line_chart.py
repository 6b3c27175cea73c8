"""Charts of lines, which the page's script draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastmetrics.reporting.chosen_rows import short
from fastmetrics.reporting.plain_text import visible


@dataclass(frozen=True)
class LineChart:
    """Lines over common places; a value is None where a line has none."""

    name: str
    """What the chart shows, for those who cannot see it."""
    x_title: str
    x: Sequence[float]
    lines: Mapping[str, Sequence[float | None]]
    words: bool = False
    """Whether the names are keys of labels, which depend on the language."""

    def data(self) -> dict[str, Any]:
        """What the script reads."""
        lines = [{"name": visible(name), "y": list(map(short, values))} for name, values in self.lines.items()]
        named = {"name": visible(self.name), "x_title": visible(self.x_title), "words": self.words}
        return {**named, "x": list(self.x), "lines": lines}


class Charts:
    """The charts of a page, by the numbers that its templates name them by."""

    def __init__(self) -> None:
        self.held: list[LineChart] = []

    def add(self, chart: LineChart) -> int:
        """Keep a chart; its number."""
        self.held.append(chart)
        return len(self.held) - 1
