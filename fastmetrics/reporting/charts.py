"""Charts of the report: bars, forest plots, heat maps, lines and points."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.display import number
from fastmetrics.base.errors import visible
from fastmetrics.base.specs import Better
from fastmetrics.metrics.stored_metadata import Stored
from fastmetrics.reporting.page_rows import short
from fastmetrics.results.by_segment import IntervalSummary
from fastmetrics.results.comparison import Comparison
from fastmetrics.results.score_file import declared_bounds
from fastmetrics.results.score_run import ScoreRun

# Lists of names with a bar for the number of each, which templates draw without a script.


_MOST = 15
"""Maximum number of bars: the first ones."""
_LABEL = 80
"""Maximum characters of a name."""


@dataclass(frozen=True)
class BarList:
    """Names with their numbers: the key of its title, and for each the name, the number, and its bar in percent."""

    title: str
    bars: list[tuple[str, str, float]]
    n: int
    """How many names there are, of which the first are shown."""

    @classmethod
    def of(cls, title: str, values: Iterable[tuple[Any, float]], most: int = _MOST) -> BarList | None:
        """A bar for each of the first ``most`` values, on a scale from 0 to the largest; None without any.

        >>> BarList.of("ratings", [(1, 4), (5, 8)]).bars
        [('1', '4', 50.0), ('5', '8', 100.0)]
        """
        numbers = [(str(name), value) for name, value in values]
        shown = numbers[:most]
        largest = max((abs(value) for _, value in shown), default=0.0)
        if not largest:
            return None
        bars = [(_name(name), _whole(value), round(100 * abs(value) / largest, 2)) for name, value in shown]
        return cls(title, bars, len(numbers))


def _name(name: str) -> str:
    return visible(name[:_LABEL]) + ("…" if len(name) > _LABEL else "")


def _whole(value: float) -> str:
    return number(int(value) if float(value).is_integer() else value)


# A forest plot: values with their intervals, one below the other, on one scale for metrics with the same bounds.


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


# Heat map of segments and metrics; the colour of a cell shows how much better or worse it is.


SEGMENTS = 60
"""Maximum number of segments per column: those with the most rows; the others are merged."""
METRICS = 16
"""Maximum number of metrics in a heat map."""


@dataclass(frozen=True)
class HeatCell:
    """A figure of a segment: text, level from −3 (bad) to 3 (good) or None, and whether it is marked as notable."""

    text: str
    level: int | None
    n: int
    marked: bool = False


@dataclass(frozen=True)
class HeatMap:
    """Rows of segments, columns of metrics; a cell is None if the segment has no such figure."""

    metrics: Sequence[str]
    lines: Sequence[tuple[str, Sequence[HeatCell | None]]]
    n_metrics: int
    """Number of metrics, including those not shown."""


def fewer_segments(runs: Sequence[ScoreRun], by: Sequence[str]) -> tuple[list[ScoreRun], list[str]]:
    """The runs with the rarer values of the columns ``by`` merged if there are many, and notes about them."""
    notes: list[str] = []
    merged = list(runs)
    for name in by:
        having = [run for run in merged if name in run.columns]
        column = having[0].column(name, "") if having else pa.array([])
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        counts = pc.value_counts(column)
        if len(counts) <= SEGMENTS:
            continue
        most = counts.take(pc.sort_indices(counts.field("counts"), sort_keys=[("", "descending")])[:SEGMENTS])
        others = f"({len(counts) - SEGMENTS:,} others)"
        notes.append(f"{name}: shows {SEGMENTS} of {len(counts):,} segments, those of most rows; the others are one")
        merged = [_renamed(run, name, most.field("values"), others) if name in run.columns else run for run in merged]
    return merged, notes


def _renamed(run: ScoreRun, name: str, shown_values: pa.Array, others: str) -> ScoreRun:
    def read_renamed(names: Sequence[str]) -> pa.Table:
        table = run.read(names)
        if name not in table.column_names:
            return table
        column = table.column(name).combine_chunks()
        is_shown = pc.is_in(column, value_set=shown_values.cast(column.type))
        return table.set_column(
            table.column_names.index(name), name, pc.if_else(is_shown, column, pa.scalar(others, column.type))
        )

    return replace(run, read=read_renamed)


def heat_of_changes(comparison: Comparison, pair: tuple[str, str] | None = None) -> HeatMap | None:
    """The differences of the second system of a pair from its first, by default of the comparison's, by segment and
    metric; the maps of all pairs have one scale of colours, and metrics without a row of both are left out."""
    pair = pair or (comparison.systems[0], comparison.systems[1])
    segments = [difference for difference in comparison if difference.segment is not None]
    some = [difference for difference in segments if (difference.baseline, difference.other) == pair]
    scored = {difference.metric for difference in some if difference.n_paired}
    cells = {
        (str(difference.segment), difference.metric): (
            difference.delta,
            ("+" if difference.delta > 0 else "") + number(difference.delta),
            difference.n_paired,
            comparison.verdict(difference) != "–",
        )
        for difference in some
        if difference.metric in scored
    }
    every = [(difference.metric, difference.delta) for difference in segments]
    decided = {
        difference.metric
        for difference in comparison
        if (difference.baseline, difference.other) == pair and comparison.verdict(difference) != "–"
    }
    return _map(cells, comparison.better, comparison.bounds, every, decided)


def heat_of_means(means: IntervalSummary, stored: Stored | None = None) -> HeatMap | None:
    """The means by segment and metric, coloured by their difference from the mean of all rows."""
    whole = {interval.metric: interval.mean for interval in means if interval.segment is None}
    cells = {
        (str(interval.segment), interval.metric): (
            interval.mean - whole[interval.metric],
            number(interval.mean),
            interval.n,
            not (interval.low <= whole[interval.metric] <= interval.high),
        )
        for interval in means
        if interval.segment is not None
    }
    every = [(metric, delta) for (_, metric), (delta, *_) in cells.items()]
    return _map(cells, means.better, declared_bounds(whole, stored or {}), every)


def _map(
    cells: Mapping[tuple[str, str], tuple[float, str, int, bool]],
    better: Mapping[str, Better],
    bounds: Mapping[str, tuple[float, float] | None],
    differences: Sequence[tuple[str, float]],
    decided: Collection[str] = (),
) -> HeatMap | None:
    """Metrics with the same bounds have one scale of colours, which the largest of the differences of metrics ends.

    A metric without a direction has no colour. The metrics of ``decided`` and those with a marked cell come first.
    """
    notable = {metric for (_, metric), (*_, marked) in cells.items() if marked} | set(decided)
    every = sorted(dict.fromkeys(metric for _, metric in cells), key=lambda metric: metric not in notable)
    metrics = every[:METRICS]
    widest: dict[Any, float] = {}
    for metric, delta in differences:
        if not math.isnan(delta) and better.get(metric) is not None:
            scale = scale_of(metric, bounds)
            widest[scale] = max(widest.get(scale, 0.0), abs(delta))
    lines = [
        (
            visible(segment),
            [
                _cell(cells.get((segment, metric)), widest.get(scale_of(metric, bounds), 0.0), better.get(metric))
                for metric in metrics
            ],
        )
        for segment in dict.fromkeys(segment for segment, _ in cells)
    ]
    return HeatMap([visible(name) for name in metrics], lines, len(every)) if lines else None


def scale_of(metric: str, bounds: Mapping[str, tuple[float, float] | None]) -> tuple[float, float] | str:
    """What the metrics of one scale have in common: their bounds; a metric without finite bounds is alone."""
    own = bounds.get(metric)
    return own if own is not None and all(map(math.isfinite, own)) else metric


def _cell(cell: tuple[float, str, int, bool] | None, widest: float, better: Better) -> HeatCell | None:
    if cell is None:
        return None
    delta, text, n, marked = cell
    if math.isnan(delta):
        return HeatCell("–", None, n)
    if better is None:
        return HeatCell(text, None, n, marked)
    sign = -1 if better == "lower" else 1
    return HeatCell(text, round(3 * sign * delta / widest) if widest else 0, n, marked)


# Line charts, drawn by the page's script.


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


# Charts of systems as points, drawn by the page's script: what they cost, and how good they are.


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
    bounds: Mapping[str, tuple[float, float] | None]
    """The bounds of the metrics, or None."""

    def data(self) -> dict[str, Any]:
        """The data for the script; less of ``x`` is better."""
        metrics = [
            {
                "name": visible(name),
                "lower": name in self.lower,
                "bounds": None if (own := self.bounds.get(name)) is None or not all(map(math.isfinite, own)) else own,
                "y": list(map(short, values)),
            }
            for name, values in self.y.items()
        ]
        points = [{"name": visible(name), "x": short(value)} for name, value in self.x.items()]
        return {"name": visible(self.name), "x_title": visible(self.x_title), "points": points, "metrics": metrics}
