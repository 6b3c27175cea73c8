"""Charts of systems as points, drawn by the page's script: what they cost, and how good they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastmetrics.base.errors import visible
from fastmetrics.reporting.rows.page_rows import short


@dataclass(frozen=True)
class ScatterChart:
    """Points with names: ``x``, and for each metric ``y``, of which the page shows one at a time."""

    name: str
    """The text alternative of the chart, for screen readers."""
    x_title: str
    x: Mapping[str, float]
    y: Mapping[str, Sequence[float]]
    """For each metric the values of the points, in the order of ``x``."""
    lower: Sequence[str]
    """The metrics of which less is better."""

    def data(self) -> dict[str, Any]:
        """The data for the script; less of ``x`` is better."""
        metrics = [
            {"name": visible(name), "lower": name in self.lower, "y": list(map(short, values))}
            for name, values in self.y.items()
        ]
        points = [{"name": visible(name), "x": short(value)} for name, value in self.x.items()]
        return {"name": visible(self.name), "x_title": visible(self.x_title), "points": points, "metrics": metrics}
