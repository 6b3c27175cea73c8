"""What charts draw: the figures of the results, at their places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import fastmetrics as fm
from fastmetrics.reporting.plot import _CATEGORIES, _CHARTS, _points

CHANCE = np.random.default_rng(5)
SCORES = {"id": range(40), "token_f1": CHANCE.random(40), "exact_match": [None, *[float(row % 2) for row in range(39)]]}
OTHER = {"id": range(40), "token_f1": CHANCE.random(40), "exact_match": [float(row % 3 == 0) for row in range(40)]}


def axes_of(result: Any) -> list[Any]:
    """The axes of a result's chart."""
    figure = Figure()
    next(draw for kind, draw in _CHARTS.items() if isinstance(result, kind))(figure, result)
    return list(figure.axes)


def intervals_of(axes: Any) -> list[tuple[float, float, float]]:
    """The intervals that are drawn, from the top: a line from bound to bound, and a point."""
    ends = [line for line in axes.lines if len(line.get_xdata()) == 2 and len(set(line.get_ydata())) == 1]
    points = [line for line in axes.lines if line.get_marker() == "o"]
    return [
        (*map(float, line.get_xdata()), float(point.get_xdata()[0])) for line, point in zip(ends, points, strict=True)
    ]


def test_means_and_differences_are_drawn_with_both_bounds():
    summary = fm.results.summarize_by(SCORES)
    [axes] = axes_of(summary)
    assert intervals_of(axes) == [pytest.approx((each.low, each.high, each.mean)) for each in summary]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [f"{each.metric}, n = {each.n}" for each in summary]
    comparison = fm.compare({"old": SCORES, "new": OTHER})
    [axes] = axes_of(comparison)
    assert intervals_of(axes) == [pytest.approx((pair.low, pair.high, pair.delta)) for pair in comparison]


def test_titles_of_histograms_have_the_rows_with_a_score():
    titles = [axes.get_title() for axes in axes_of(fm.results.histograms(SCORES))]
    assert titles == ["token_f1, n = 40", "exact_match, n = 39"]


@pytest.mark.parametrize("tau", [0.3, 0.85])
def test_the_chart_of_a_cache_has_its_curve_and_its_threshold(tau):
    vectors = [[1.0, 0.0], [0.6, 0.8], [1.0, 0.1], [0.8, 0.6]]
    hits = fm.logs.cache_hit_rate({"question_embedding": vectors, "answer": ["x", "x", "y", "x"]}, tau=tau)
    [axes] = axes_of(hits)
    rates, wrong, threshold = axes.lines
    assert list(rates.get_xdata()) == [point["tau"] for point in hits.curve]
    assert list(rates.get_ydata()) == [point["cache_hit_rate"] for point in hits.curve]
    assert list(wrong.get_ydata()) == pytest.approx([point["wrong_share"] for point in hits.curve], nan_ok=True)
    assert list(threshold.get_xdata()) == [tau, tau]


def test_categories_of_most_points_have_colours_of_their_own():
    """Category n has n points; those of fewest points share one colour."""
    kinds = [f"k{size:02}" for size in range(1, _CATEGORIES + 4) for _ in range(size)]
    figure = Figure()
    _points(figure, fm.vectors.project(CHANCE.random((len(kinds), 3))), kinds)
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    most = [f"k{size:02}" for size in range(_CATEGORIES + 3, 4, -1)]
    assert labels == [*most, "4 others"]
