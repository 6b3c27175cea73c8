"""Line charts, drawn by the page's script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fastmetrics.base.errors import visible
from fastmetrics.reporting.rows.page_rows import short


@dataclass(frozen=True)
class LineChart:
    """Lines over common positions; a missing value is None."""

    name: str
    """The text alternative of the chart, for screen readers."""
    x_title: str
    x: Sequence[float]
    lines: Mapping[str, Sequence[float | None]]
    words: bool = False
    """Whether the names are keys of translated labels."""
    x_labels: Sequence[str] | None = None
    """Texts in place of the numbers of the axis."""

    def data(self) -> dict[str, Any]:
        """The data for the script."""
        lines = [{"name": visible(name), "y": list(map(short, values))} for name, values in self.lines.items()]
        titles = {"name": visible(self.name), "x_title": visible(self.x_title), "words": self.words}
        labels = {} if self.x_labels is None else {"x_labels": list(map(visible, self.x_labels))}
        return {**titles, **labels, "x": list(self.x), "lines": lines}


class Chart(Protocol):
    """A chart that the page's script draws."""

    def data(self) -> dict[str, Any]: ...


class Charts:
    """The charts of a page, by the numbers that its templates use."""

    def __init__(self) -> None:
        self.drawn: list[Chart] = []

    def add(self, chart: Chart) -> int:
        """Store a chart; return its number."""
        self.drawn.append(chart)
        return len(self.drawn) - 1
