"""``fm.plot``: charts of results as SVG and PNG files, for papers and slides, drawn by matplotlib."""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastmetrics.base.columns import as_array
from fastmetrics.base.errors import Argument, InputError, MissingExtraError, OptionError, visible
from fastmetrics.logs.cache import CacheHits
from fastmetrics.reporting.charts import ForestRow, HeatMap, draw_forest, heat_of_changes, heat_of_means, scale_of
from fastmetrics.results.by_segment import IntervalSummary
from fastmetrics.results.comparison import Comparison
from fastmetrics.results.distributions import Histograms
from fastmetrics.results.score_file import declared_bounds
from fastmetrics.results.trend import Trend
from fastmetrics.tables.outputs import page_target
from fastmetrics.tables.targets import Target
from fastmetrics.vectors.projection import AXES, Points

FORMATS = ("svg", "png")
MOST = 16
"""Maximum number of plotted metrics: the first ones."""
_LABEL = 40
_TITLE = 28
"""The characters of a line in the title of a chart beside others."""
_DARKEST = 6
"""Number of levels up to the ends of the colour map, whose outer levels are too dark for black text."""
_CATEGORIES = 10
# the colours of Okabe and Ito, distinguishable with colour blindness
_PALETTE = (
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
_SETTINGS = {
    "svg.hashsalt": "fastmetrics",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def plot(result: Any, output: str | Path, *, color: Any = None, overwrite: bool = False) -> None:
    """Draw a result as a chart into ``output``, an SVG or PNG file by its suffix.

    ``result`` is what one of these returns:

    - ``histograms``: a histogram a metric;
    - ``compare``: the differences of all systems from the first with their intervals, or, with segments, heat maps;
    - ``summarize_by``: the means with their intervals, or, with segments, a heat map of them;
    - ``trend``: the mean over runs, with its intervals;
    - ``cache_hit_rate``: the hit rate and the share of wrong hits over τ;
    - ``project``: the points, coloured by the column ``color``, numbers or categories, one a row.

    Metrics with the same bounds share a scale.  Of many metrics the first 16 are drawn; a picture says what it leaves
    out.  The same result gives the same bytes of SVG with one version of matplotlib,
    and SVG keeps its text as text.  Needs the extra ``plot``.

    >>> import fastmetrics as fm
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> fm.plot(fm.results.histograms({"token_f1": [0.1, 0.5, 0.9]}), folder / "scores.svg")
    >>> (folder / "scores.svg").read_text().startswith("<?xml")
    True

    Raises ``InputError`` for something that has no chart, ``OptionError`` for another suffix and for colours that are
    not one a row, ``OutputError`` if the file exists, unless ``overwrite``, and ``MissingExtraError`` without
    matplotlib.
    """
    draw_into(picture_target(output, (), overwrite), result, color)


def draw_into(place: Target, result: Any, color: Any = None) -> list[str]:
    """Draw a chart of a result, as :func:`plot` does, into a place that was checked; returns what it leaves out."""
    draw = next((function for kind, function in _CHARTS.items() if isinstance(result, kind)), None)
    if draw is None:
        expected = "a result of histograms, compare, summarize_by, trend, cache_hit_rate or project"
        raise InputError(f"{type(result).__name__} has no chart; give {expected}")
    if color is not None and not isinstance(result, Points):
        raise OptionError(Argument("color"), " is of projections only")
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about glyphs missing from a font
        figure, notes = Figure(layout="constrained"), []
        if isinstance(result, Points):
            _points(figure, result, color)
        else:
            notes = draw(figure, result) or []
            if notes:
                figure.supxlabel("\n".join(notes), fontsize=8)
        sink = io.BytesIO()
        suffix = _suffix(place.text)
        figure.savefig(sink, format=suffix, dpi=150, metadata={"Date": None} if suffix == "svg" else {"Software": None})
    place.write(sink.getvalue())
    return notes


def picture_target(path: str | Path, inputs: Any, overwrite: bool) -> Target:
    """The place of a picture; ``inputs`` are what the run reads.

    Raises the errors of :func:`plot` for a path that it cannot write, and without matplotlib.
    """
    if _suffix(path) not in FORMATS:
        raise OptionError(f"{path}: expected a file that ends in .svg or .png")
    place = page_target(path, inputs, overwrite=overwrite)
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plot") from error
    return place


def _suffix(path: str | Path) -> str:
    """The format of a picture."""
    return Path(path).suffix.lower().removeprefix(".")


def _label(text: Any) -> str:
    """A label without invisible characters, truncated if it is long."""
    whole = visible(str(text))
    return whole if len(whole) <= _LABEL else whole[: _LABEL - 1] + "…"


def _cells(figure: Any, count: int) -> list[Any]:
    """Axes for the given number of charts, at most four per line."""
    columns = min(4, count)
    lines = math.ceil(count / columns)
    figure.set_size_inches(max(3.2, 2.6 * columns), 2.1 * lines + 0.4)
    return [figure.add_subplot(lines, columns, at + 1) for at in range(count)]


def _histograms(figure: Any, histograms: Histograms) -> list[str]:
    some = list(histograms.values())[:MOST]
    if not some:
        raise InputError(f"{histograms.scores}: no scores to draw")
    for axes, histogram in zip(_cells(figure, len(some)), some, strict=True):
        if histogram.n:
            axes.bar(
                histogram.edges[:-1],
                histogram.counts,
                np.diff(histogram.edges),
                align="edge",
                color=_PALETTE[0],
                linewidth=0,
            )
        title = f"{_label(histogram.metric)}, n = {histogram.n:,}"
        axes.set_title(textwrap.fill(title, _TITLE), fontsize=9)
    return _left_out(list(histograms), "metrics")


def _comparison(figure: Any, comparison: Comparison) -> list[str]:
    baseline, *others = comparison.systems
    notes = [] if len(others) < 2 else [f"all are compared with {_label(baseline)}, and not with each other"]
    heats = {other: heat for other in others if (heat := heat_of_changes(comparison, (baseline, other))) is not None}
    if heats:
        return [
            *_heats(figure, {f"{_label(other)} – {_label(baseline)}": heat for other, heat in heats.items()}),
            *notes,
        ]
    whole = [change for change in comparison if change.segment is None and change.baseline == baseline]
    metrics = list(dict.fromkeys(change.metric for change in whole))
    rows = [
        ForestRow(change.metric, change.other, change.delta, change.low, change.high, comparison.verdict(change) != "–")
        for change in whole
        if change.metric in metrics[:MOST]
    ]
    title = f"difference of {_label(others[0]) if len(others) == 1 else 'each'} from {_label(baseline)}"
    title += f", {comparison.confidence * 100:g} % intervals; filled: significant"
    scales = {metric: scale_of(metric, comparison.bounds) for metric in metrics}
    draw_forest(figure, rows, title, _label, _PALETTE, scales, zero=True)
    return [*_left_out(metrics, "metrics"), *notes]


def _means(figure: Any, summary: IntervalSummary) -> list[str]:
    heat = heat_of_means(summary)
    if heat is not None:
        return _heats(figure, {"": heat})
    intervals = list(summary)
    bounds = declared_bounds([interval.metric for interval in intervals], {})
    rows, scales = [], {}
    for interval in intervals[:MOST]:
        name = f"{interval.metric}, n = {interval.n:,}"
        rows.append(ForestRow(name, "", interval.mean, interval.low, interval.high))
        scales[name] = scale_of(interval.metric, bounds)
    draw_forest(figure, rows, "means with their intervals", _label, _PALETTE, scales)
    return _left_out(intervals, "metrics")


def _left_out(every: Sequence[Any], what: str) -> list[str]:
    """The note on a picture of the first metrics only."""
    return [f"the first {MOST} of {len(every):,} {what} are drawn"] if len(every) > MOST else []


def _heats(figure: Any, heats: Mapping[str, HeatMap]) -> list[str]:
    """Heat maps beside each other, under their titles."""
    first = next(iter(heats.values()))
    widths = 1.1 * len(first.metrics) * len(heats)
    figure.set_size_inches(2.4 + widths, 1.2 + 0.28 * max(len(heat.lines) for heat in heats.values()))
    for axes, (title, heat) in zip(figure.subplots(1, len(heats), squeeze=False)[0], heats.items(), strict=True):
        _heat(
            axes,
            heat,
            show_segments=heat is first or [name for name, _ in heat.lines] != [name for name, _ in first.lines],
        )
        axes.set_title(title if len(heats) > 1 else "", fontsize=9)
    shown = len(first.metrics)
    return [f"the first {shown} of {first.n_metrics} metrics are drawn"] if first.n_metrics > shown else []


def _heat(axes: Any, heat: HeatMap, *, show_segments: bool) -> None:
    """Segments by metrics; purple is good, orange is bad, grey is neutral; a * marks a significant cell."""
    levels = np.array([[(cell.level or 0) if cell else 0 for cell in cells] for _, cells in heat.lines], float)
    axes.imshow(levels, cmap="PuOr", vmin=-_DARKEST, vmax=_DARKEST, aspect="auto")
    for at, (_, cells) in enumerate(heat.lines):
        for place, cell in enumerate(cells):
            if cell is not None:
                axes.text(place, at, cell.text + "*" * cell.marked, ha="center", va="center", fontsize=8)
    axes.set_xticks(range(len(heat.metrics)), [_label(name) for name in heat.metrics], rotation=30, ha="right")
    axes.set_yticks(range(len(heat.lines)), [_label(name) if show_segments else "" for name, _ in heat.lines])


def _trend(figure: Any, trend: Trend) -> None:
    figure.set_size_inches(6.0, 3.0)
    axes = figure.add_subplot()
    places = np.arange(len(trend))
    means = np.array([point.mean for point in trend], float)
    low, high = (np.array([getattr(point, name) for point in trend], float) for name in ("low", "high"))
    axes.fill_between(places, low, high, color=_PALETTE[4], alpha=0.4, linewidth=0)
    axes.plot(places, means, "o-", color=_PALETTE[0], markersize=4)
    names = [_label(point.name or point.file) + "*" * bool(point.other_rows) for point in trend]
    axes.set_xticks(places, names, rotation=30, ha="right")
    axes.set_ylabel(_label(trend.metric))


def _cache(figure: Any, hits: CacheHits) -> None:
    figure.set_size_inches(4.5, 3.0)
    axes = figure.add_subplot()
    taus = [point["tau"] for point in hits.curve]
    for at, (name, label) in enumerate((("cache_hit_rate", "hit rate"), ("wrong_share", "wrong share of hits"))):
        values = [math.nan if point[name] is None else point[name] for point in hits.curve]
        axes.plot(taus, values, ("o-", "s--")[at], color=_PALETTE[at], markersize=4, label=label)
    axes.axvline(hits.tau, color="#999999", linewidth=0.8)
    axes.set_xlabel("τ, the cosine above which an earlier question counts")
    axes.set_ylim(-0.02, 1.02)
    axes.legend(frameon=False)


def _points(figure: Any, points: Points, color: Any) -> None:
    if color is not None and len(color) != points.rows:
        raise OptionError(Argument("color"), f": expected one a row, {points.rows:,}, got {len(color):,}")
    figure.set_size_inches(6.0, 5.0)
    axes = figure.add_subplot(projection="3d" if points.dims == len(AXES) else None)
    has_point = np.isfinite(points.points[:, 0])
    size = float(np.clip(2e4 / max(1, has_point.sum()), 0.5, 12))
    for label, rows, style in _groups(points, color):
        shown = has_point & rows
        drawn = axes.scatter(
            *points.points[shown].T, s=size, linewidths=0, rasterized=True, label=label, **style(shown)
        )
        if label is None and color is not None:
            figure.colorbar(drawn, ax=axes)
    if color is not None and axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, markerscale=3)
    quality = f"trustworthiness {points.trustworthiness:.3f}"
    if points.explained is not None:
        quality = f"{sum(points.explained):.1%} of the variance, {quality}"
    axes.set_title(f"{points.method} of {points.sampled:,} of {points.rows:,} rows; {quality}", fontsize=9)


_Style = Callable[[Any], Mapping[str, Any]]


def _groups(points: Points, color: Any) -> list[tuple[str | None, Any, _Style]]:
    """The rows of each colour, with the name of their category, and their drawing style."""
    every = np.ones(points.rows, np.bool_)
    if color is None:
        return [(None, every, lambda _: {"color": _PALETTE[0]})]
    values = as_array(color, "color").to_pylist()
    known_values = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
    if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in known_values):
        shades = np.array([math.nan if value is None else float(value) for value in known_values])
        return [(None, every, lambda shown: {"c": shades[shown], "cmap": "viridis"})]
    names = np.array([_label("none" if value is None else value) for value in known_values])
    kinds, counts = np.unique(names, return_counts=True)
    first = [str(kinds[at]) for at in np.argsort(-counts, kind="stable")[: _CATEGORIES - 1]]
    groups: list[tuple[str | None, Any, _Style]] = [
        (kind, names == kind, _of_color(_PALETTE[at])) for at, kind in enumerate(first)
    ]
    others = ~np.isin(names, first)
    return [*groups, *([(f"{len(kinds) - len(first):,} others", others, _of_color("#CCCCCC"))] if others.any() else [])]


def _of_color(color: str) -> _Style:
    return lambda _: {"color": color}


_CHARTS: Mapping[type, Callable[[Any, Any], list[str] | None]] = {
    Histograms: _histograms,
    Comparison: _comparison,
    IntervalSummary: _means,
    Trend: _trend,
    CacheHits: _cache,
    Points: lambda figure, points: _points(figure, points, None),
}
