"""Drawing with Matplotlib: figures of results, forest plots of values with their intervals, and curves."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmetrics.base.errors import MissingExtraError, visible

MOST = 16
"""Maximum number of plotted metrics: the first ones."""
PALETTE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#000000",
    "#999999",
    "#44AA99",
)
"""The colours of Okabe and Ito, distinguishable with colour blindness, and three more."""
GREY = "#999999"
_LABEL = 40
_MARKERS = ("o", "s", "D", "^", "v", "P", "X")
_ROW_INCHES = 0.2
_LEGEND = 100
"""The characters of a line of the legend."""


def canvas(figure: Any, width: float, height: float) -> Any:
    """The figure to draw in: a new one of pyplot if there is none; an empty figure takes the size in inches.

    Raises ``MissingExtraError`` without Matplotlib.
    """
    try:
        from matplotlib import pyplot
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plot") from error
    if figure is None:
        return pyplot.figure(figsize=(width, height), layout="constrained")
    if isinstance(figure, Figure) and not figure.axes:
        figure.set_size_inches(width, height)
    return figure


def drawn(figure: Any, notes: Iterable[str] = ()) -> Any:
    """The axes of a figure, an array of them if there are several, with notes below."""
    if text := "\n".join(notes):
        figure.supxlabel(text, fontsize=8)
    axes = np.array(figure.axes, object)
    return axes[0] if len(axes) == 1 else axes


def label(text: Any) -> str:
    """A label without invisible characters and mathematics, truncated if it is long."""
    whole = visible(str(text))
    return (whole if len(whole) <= _LABEL else whole[: _LABEL - 1] + "…").replace("$", r"\$")


def left_out(every: Sequence[Any], what: str) -> list[str]:
    """The note on a picture of the first of many."""
    return [f"the first {MOST} of {len(every):,} {what} are drawn"] if len(every) > MOST else []


def cells(figure: Any, count: int) -> tuple[Any, list[Any]]:
    """The figure, and axes for the given number of charts, at most four per line."""
    columns = min(4, count)
    lines = math.ceil(count / columns)
    figure = canvas(figure, max(3.2, 2.6 * columns), 2.1 * lines + 0.4)
    return figure, [figure.add_subplot(lines, columns, at + 1) for at in range(count)]


@dataclass(frozen=True)
class ForestRow:
    """One value with its interval; ``decided`` is whether the marker is filled."""

    metric: str
    series: str
    value: float
    low: float
    high: float
    decided: bool = True


def forest(
    figure: Any, rows: Sequence[ForestRow], title: str, scales: Mapping[str, Hashable], *, zero: bool = False
) -> Any:
    """The figure with the rows: a panel for each of the ``scales`` of metrics, a colour and a marker for each series.

    With ``zero``, a line shows where there is no difference.
    """
    series = list(dict.fromkeys(row.series for row in rows))
    styles = {
        name: (PALETTE[at % len(PALETTE)], _MARKERS[at // len(PALETTE) % len(_MARKERS)])
        for at, name in enumerate(series)
    }
    names = [label(name) for name in series]
    columns = max(1, min(4, _LEGEND // (max(map(len, names)) + 6)))
    panels: dict[Hashable, list[str]] = {}
    for metric in dict.fromkeys(row.metric for row in rows):
        panels.setdefault(scales[metric], []).append(metric)
    rows_of_metric = max(1, len(series))
    heights = [len(metrics) * (rows_of_metric + 0.6) for metrics in panels.values()]
    inches = _ROW_INCHES * (sum(heights) + len(series) / columns)
    figure = canvas(figure, 6.4, 0.6 + 0.32 * len(panels) + inches)
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
            axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
    if len(series) == 1:
        figure.suptitle(title, fontsize=9)
        return figure
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=color, marker=marker, markersize=4.5) for color, marker in styles.values()]
    place = {"loc": "outside upper center", "ncols": columns, "frameon": False}
    figure.legend(handles, names, title=title, title_fontsize=9, fontsize=8, **place)
    return figure
