"""A forest plot: values with their intervals, one below the other, on one scale for metrics with the same bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_MARKERS = ("o", "s", "D", "^", "v", "P", "X")
_ROW_INCHES = 0.2
_LEGEND = 100
"""The characters of a line of the legend."""


@dataclass(frozen=True)
class ForestRow:
    """One value with its interval; ``decided`` is whether the marker is filled."""

    metric: str
    series: str
    value: float
    low: float
    high: float
    decided: bool = True


def draw_forest(
    figure: Any,
    rows: Sequence[ForestRow],
    title: str,
    label: Callable[[Any], str],
    palette: Sequence[str],
    scales: Mapping[str, Hashable],
    *,
    zero: bool = False,
) -> None:
    """Draw the rows: a panel for each of the ``scales`` of the metrics, a colour and a marker for each series.

    With ``zero``, a line shows where there is no difference.
    """
    series = list(dict.fromkeys(row.series for row in rows))
    styles = {
        name: (palette[at % len(palette)], _MARKERS[at // len(palette) % len(_MARKERS)])
        for at, name in enumerate(series)
    }
    names = [label(name) for name in series]
    columns = max(1, min(4, _LEGEND // (max(map(len, names)) + 6)))
    panels: dict[Hashable, list[str]] = {}
    for metric in dict.fromkeys(row.metric for row in rows):
        panels.setdefault(scales[metric], []).append(metric)
    rows_of_metric = max(1, len(series))
    heights = [len(metrics) * (rows_of_metric + 0.6) for metrics in panels.values()]
    figure.set_size_inches(6.4, 0.6 + 0.32 * len(panels) + _ROW_INCHES * (sum(heights) + len(series) / columns))
    axes_of_panels = figure.subplots(len(panels), squeeze=False, height_ratios=heights)[:, 0]
    for axes, metrics in zip(axes_of_panels, panels.values(), strict=True):
        for row in rows:
            if row.metric in metrics and math.isfinite(row.value):
                at = series.index(row.series)
                y = metrics.index(row.metric) * (rows_of_metric + 0.6) + at
                color, marker = styles[row.series]
                axes.plot([row.low, row.high], [y, y], color=color, linewidth=1.5)
                fill = color if row.decided else "white"
                axes.plot([row.value], [y], marker, color=color, markerfacecolor=fill, markersize=4.5)
        middle = (rows_of_metric - 1) / 2
        places = [at * (rows_of_metric + 0.6) + middle for at in range(len(metrics))]
        axes.set_yticks(places, [label(metric) for metric in metrics])
        axes.set_ylim(places[-1] + rows_of_metric / 2 + 0.4, -0.9)
        axes.locator_params(axis="x", nbins=6)
        if zero:
            axes.axvline(0.0, color="#999999", linewidth=0.8, zorder=0)
    if len(series) == 1:
        figure.suptitle(title, fontsize=9)
        return
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=color, marker=marker, markersize=4.5) for color, marker in styles.values()]
    place = {"loc": "outside upper center", "ncols": columns, "frameon": False}
    figure.legend(handles, names, title=title, title_fontsize=9, fontsize=8, **place)
