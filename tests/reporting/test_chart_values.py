"""What the charts of results draw: their figures, at their places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from sklearn.calibration import calibration_curve
from sklearn.metrics import precision_recall_curve, roc_auc_score, roc_curve

import fastmetrics as fm
from fastmetrics.vectors.projection import _CATEGORIES

CHANCE = np.random.default_rng(5)
SCORES = {"id": range(40), "token_f1": CHANCE.random(40), "exact_match": [None, *[float(row % 2) for row in range(39)]]}
OTHER = {"id": range(40), "token_f1": CHANCE.random(40), "exact_match": [float(row % 3 == 0) for row in range(40)]}


def axes_of(result: Any) -> list[Any]:
    """The axes of a result's chart."""
    figure = Figure()
    result.plot(figure)
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
    fm.vectors.project(CHANCE.random((len(kinds), 3))).plot(figure, color=kinds)
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    most = [f"k{size:02}" for size in range(_CATEGORIES + 3, 4, -1)]
    assert labels == [*most, "4 others"]


LABELS = [float(CHANCE.random() < score) for score in SCORES["token_f1"]]
JUDGED = {"token_f1": SCORES["token_f1"], "hallucination": CHANCE.random(40), "latency_ms": 100 * CHANCE.random(40)}


def test_curves_of_a_validation_are_those_of_scikit_learn():
    found = fm.validate(JUDGED, LABELS)
    [axes] = axes_of(found)
    lines = {line.get_label().partition(" ")[0]: line for line in axes.lines if not line.get_label().startswith("_")}
    assert list(lines) == list(JUDGED)  # the points of thresholds have no names
    for name, scores in JUDGED.items():
        line = lines[name]
        toward = scores if name == "token_f1" else -scores
        false, true, _ = roc_curve(LABELS, toward)
        np.testing.assert_allclose(line.get_xdata(), false)
        np.testing.assert_allclose(line.get_ydata(), true)
        assert found[name].auc.value == pytest.approx(roc_auc_score(LABELS, toward))
    figure = Figure()
    axes = found.plot(figure, kind="precision-recall", metrics="token_f1")
    precision, recall, _ = precision_recall_curve(LABELS, JUDGED["token_f1"])
    np.testing.assert_allclose(axes.lines[0].get_xdata(), recall)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), precision)
    axes = found.plot(Figure(), kind="calibration")
    share, mean = calibration_curve(LABELS, JUDGED["token_f1"], n_bins=10, strategy="quantile")
    lines = {line.get_label(): line for line in axes.lines}
    np.testing.assert_allclose(lines["token_f1"].get_xdata(), mean)
    np.testing.assert_allclose(lines["token_f1"].get_ydata(), share)
    assert "latency_ms" not in lines


def test_the_risk_coverage_curve_has_its_area():
    found = fm.stats.risk_coverage([0.9, 0.2, 0.5, 0.5], [1, 0, 1, 0])
    axes = found.plot(Figure())
    curve, area = axes.lines
    assert list(curve.get_ydata()) == found.risk.tolist()
    assert area.get_ydata()[0] == pytest.approx(np.mean(found.risk))


def test_a_chart_returns_axes_in_a_new_figure_or_a_part_of_one():
    axes = fm.summarize(SCORES).plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["token_f1, n = 40", "exact_match, n = 39"]
    assert axes.figure.number in pyplot.get_fignums()
    pyplot.close(axes.figure)
    whole = Figure(figsize=(9, 3), layout="constrained")
    left, right = whole.subfigures(1, 2)
    several = fm.results.histograms(SCORES).plot(left)
    one = fm.results.summarize_by(SCORES).plot(right)
    assert several.shape == (2,)
    assert one in right.axes
    assert tuple(whole.get_size_inches()) == (9, 3)
