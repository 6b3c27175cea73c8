"""Drawing with Matplotlib: pictures of results, which are a forest of values, a matrix, curves or bars."""

from __future__ import annotations

import math
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fastmetrics.base.errors import MissingExtraError, visible
from fastmetrics.base.notes import Figure, Note, said

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
_TITLE = 30
"""The characters of a line of the title of one of several panels."""


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


def label(text: Any) -> str:
    """A label without invisible characters and mathematics, truncated if it is long."""
    whole = visible(str(text))
    return (whole if len(whole) <= _LABEL else whole[: _LABEL - 1] + "…").replace("$", r"\$")


def left_out(every: Sequence[Any], what: str) -> list[str]:
    """The note on a picture of the first of many."""
    return said(len(every) > MOST and Note("drawn", most=MOST, n=len(every), what=what))


@dataclass(frozen=True, kw_only=True)
class Picture(ABC):
    """What a chart shows."""

    title: str = ""
    notes: Sequence[str] = ()
    """What stands below."""

    @abstractmethod
    def draw(self, figure: Any) -> Any:
        """Draw into a figure, or a new one, which is returned."""


class Plotted(ABC):
    """Base class of results with a chart."""

    @abstractmethod
    def picture(self) -> Picture:
        """What the chart shows."""

    def plot(self, figure: Any = None) -> Any:
        """The axes of the result's chart: an array of them if there are several.

        ``figure`` is one of Matplotlib, or a part of one; by default a new one.  Raises ``InputError`` where there is
        nothing to draw, and ``MissingExtraError`` without Matplotlib.
        """
        return plotted(self.picture(), figure)


def plotted(picture: Picture, figure: Any) -> Any:
    """The axes of a picture, an array of them if there are several."""
    figure = picture.draw(figure)
    if text := "\n".join(picture.notes):
        figure.supxlabel(text, fontsize=8)
    axes = np.array(figure.axes, object)
    return axes[0] if len(axes) == 1 else axes


@dataclass(frozen=True, kw_only=True)
class Forest(Picture):
    """Values with their intervals: a panel for each of the ``scales`` of metrics, a colour and marker for each system.

    With ``zero``, a line shows where there is no difference; markers of ``hollow`` metrics and systems are not filled.
    """

    rows: Sequence[Figure]
    scales: Mapping[str, Hashable]
    zero: bool = False
    hollow: Collection[tuple[str, str | None]] = ()

    def draw(self, figure: Any) -> Any:
        """A line for each metric and system."""
        rows = self.rows
        series = list(dict.fromkeys(row.system for row in rows))
        styles = {
            name: (PALETTE[at % len(PALETTE)], _MARKERS[at // len(PALETTE) % len(_MARKERS)])
            for at, name in enumerate(series)
        }
        names = [label(name) for name in series]
        columns = max(1, min(4, _LEGEND // (max(map(len, names)) + 6)))
        panels: dict[Hashable, list[str]] = {}
        for metric in dict.fromkeys(row.figure for row in rows):
            panels.setdefault(self.scales[metric], []).append(metric)
        apart = max(1, len(series)) + 0.6
        heights = [len(metrics) * apart for metrics in panels.values()]
        inches = _ROW_INCHES * (sum(heights) + len(series) / columns)
        figure = canvas(figure, 6.4, 0.6 + 0.32 * len(panels) + inches)
        axes_of_panels = figure.subplots(len(panels), squeeze=False, height_ratios=heights)[:, 0]
        for axes, metrics in zip(axes_of_panels, panels.values(), strict=True):
            for row in rows:
                if row.figure in metrics and math.isfinite(row.value):
                    y = metrics.index(row.figure) * apart + series.index(row.system)
                    color, marker = styles[row.system]
                    axes.plot([row.low, row.high], [y, y], color=color, linewidth=1.5)
                    fill = "white" if (row.figure, row.system) in self.hollow else color
                    axes.plot([row.value], [y], marker, color=color, markerfacecolor=fill, markersize=4.5)
            places = [at * apart + (apart - 1.6) / 2 for at in range(len(metrics))]
            axes.set_yticks(places, [label(metric) for metric in metrics])
            axes.set_ylim(places[-1] + (apart - 0.6) / 2 + 0.4, -0.9)
            axes.locator_params(axis="x", nbins=6)
            if self.zero:
                axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
        if len(series) == 1:
            figure.suptitle(self.title, fontsize=9)
            return figure
        from matplotlib.lines import Line2D

        handles = [Line2D([], [], color=color, marker=marker, markersize=4.5) for color, marker in styles.values()]
        place = {"loc": "outside upper center", "ncols": columns, "frameon": False}
        figure.legend(handles, names, title=self.title, title_fontsize=9, fontsize=8, **place)
        return figure


@dataclass(frozen=True)
class Cells:
    """The cells of a matrix: the names of its rows and columns, the text of each cell, and its place on the colours."""

    rows: Sequence[str]
    columns: Sequence[str]
    texts: Sequence[Sequence[str]]
    shades: Any


@dataclass(frozen=True, kw_only=True)
class Matrices(Picture):
    """Matrices beside each other, under their titles; ``colors`` are a map of Matplotlib and its ends."""

    panels: Mapping[str, Cells]
    colors: tuple[str, float, float]
    dark: float = math.inf
    """The shade from which on a cell's text is white."""
    axis_names: tuple[str, str] = ("", "")
    """What the columns and the rows are."""
    cell_inches: tuple[float, float] = (1.1, 0.28)

    def draw(self, figure: Any) -> Any:
        """The texts of the cells on their colours; rows of the same names are named once."""
        first = next(iter(self.panels.values()))
        width, height = self.cell_inches
        most = max(len(one.rows) for one in self.panels.values())
        figure = canvas(figure, 2.4 + width * len(first.columns) * len(self.panels), 1.2 + height * most)
        colors, low, high = self.colors
        panels = figure.subplots(1, len(self.panels), squeeze=False)[0]
        for axes, (title, one) in zip(panels, self.panels.items(), strict=True):
            axes.imshow(one.shades, cmap=colors, vmin=low, vmax=high, aspect="auto")
            for (row, column), shade in np.ndenumerate(one.shades):
                ink = "white" if shade > self.dark else "black"
                if text := one.texts[row][column]:
                    axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=8)
            named = one is first or list(one.rows) != list(first.rows)
            axes.set_xticks(range(len(one.columns)), list(map(label, one.columns)), rotation=30, ha="right")
            axes.set_yticks(range(len(one.rows)), [label(name) if named else "" for name in one.rows])
            axes.set_xlabel(self.axis_names[0])
            axes.set_ylabel(self.axis_names[1])
            axes.set_title(title, fontsize=9)
        figure.suptitle(self.title, fontsize=8)
        return figure


@dataclass(frozen=True, kw_only=True)
class Curves(Picture):
    """Curves of values over numbers, or over names, by the name of the curve: x, y and perhaps both bounds of y."""

    curves: Mapping[str, tuple[Any, ...]]
    axis_names: tuple[str, str]
    names: Sequence[str] = ()
    """What stands at the places of x, from 0."""
    lines: Mapping[str, Any] = field(default_factory=dict)
    """Grey lines by the method of axes that draws them: ``axvline``, ``axhline`` or ``axline``, with its arguments."""
    marker: str = "o"
    steps: bool = False
    """Whether a value holds up to the next one."""
    points: Mapping[str, Sequence[tuple[str, float, float]]] = field(default_factory=dict)
    """Marked points of curves: the marker, x and y."""

    def draw(self, figure: Any) -> Any:
        """A line a curve, a band between its bounds, and a legend of those with names."""
        figure = canvas(figure, 5.0, 3.6)
        axes = figure.add_subplot()
        for at, (name, (x, y, *bounds)) in enumerate(self.curves.items()):
            color = PALETTE[at % len(PALETTE)]
            style = "steps-post" if self.steps else "default"
            axes.plot(x, y, f"-{self.marker}", color=color, markersize=4, label=name, drawstyle=style)
            for marker, *place in self.points.get(name, ()):
                axes.plot(*([one] for one in place), marker, color=color, markersize=6)
            if bounds:
                axes.fill_between(x, *bounds, color=color, alpha=0.25, linewidth=0)
        for method, how in self.lines.items():
            getattr(axes, method)(**how, color=GREY, linewidth=0.8, zorder=0)
        if self.names:
            axes.set_xticks(range(len(self.names)), list(map(label, self.names)), rotation=30, ha="right")
        axes.set_xlabel(self.axis_names[0])
        axes.set_ylabel(self.axis_names[1])
        axes.set_title(self.title, fontsize=9)
        if any(self.curves):
            axes.legend(frameon=False, fontsize=8)
        return figure


@dataclass(frozen=True, kw_only=True)
class Panels(Picture):
    """Pictures beside each other, at most three in a line."""

    panels: Sequence[Picture]

    def draw(self, figure: Any) -> Any:
        """Each in a part of the figure."""
        columns = min(3, len(self.panels))
        lines = math.ceil(len(self.panels) / columns)
        figure = canvas(figure, 3.2 * columns, 2.4 * lines)
        for part, panel in zip(figure.subfigures(lines, columns, squeeze=False).flat, self.panels, strict=False):
            panel.draw(part)
        return figure


@dataclass(frozen=True, kw_only=True)
class Bars(Picture):
    """A histogram a panel, under its title: the edges of its bins and their counts."""

    panels: Mapping[str, tuple[Any, Any]]

    def draw(self, figure: Any) -> Any:
        """At most four panels in a line."""
        columns = min(4, len(self.panels))
        lines = math.ceil(len(self.panels) / columns)
        figure = canvas(figure, max(3.2, 2.6 * columns), 2.1 * lines + 0.4)
        for at, (title, (edges, counts)) in enumerate(self.panels.items(), 1):
            axes = figure.add_subplot(lines, columns, at)
            axes.bar(edges[:-1], counts, np.diff(edges), align="edge", color=PALETTE[0], linewidth=0)
            axes.set_title(textwrap.fill(title, _TITLE), fontsize=9)
        return figure
