"""Scores against labels: scipy and scikit-learn for the figures, a plain bootstrap for the intervals."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sk

from fastmetrics.results.validate import validate
from fastmetrics.stats.association import associate
from fastmetrics.stats.raters import ALPHAS, KAPPAS, cohen_kappa, krippendorff_alpha

SCORES = st.one_of(st.integers(-3, 3).map(float), st.floats(-100, 100).map(lambda x: round(x, 3)))


def by_scipy(function: object, x: np.ndarray, y: np.ndarray) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(function(x, y).statistic) if len(x) > 1 else math.nan  # type: ignore[operator]


def best_f1(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    found = [(sk.f1_score(y, x >= threshold, zero_division=0), threshold) for threshold in np.unique(x)]
    best = max(f1 for f1, _ in found)
    return best, max(threshold for f1, threshold in found if f1 >= best - 1e-12)


@given(st.lists(st.tuples(SCORES, st.integers(0, 3)), min_size=2, max_size=25))
def test_figures_equal_scipy_and_scikit_learn(rows: list[tuple[float, int]]) -> None:
    x, y = np.array([a for a, _ in rows]), np.array([float(b) for _, b in rows])
    found = associate(x, y, positive=2.0)
    assert found.n == len(rows)
    assert found.pearson.value == pytest.approx(by_scipy(stats.pearsonr, x, y), abs=1e-9, nan_ok=True)
    assert found.spearman.value == pytest.approx(by_scipy(stats.spearmanr, x, y), abs=1e-12, nan_ok=True)
    assert found.kendall.value == pytest.approx(by_scipy(stats.kendalltau, x, y), abs=1e-12, nan_ok=True)
    good = y >= 2
    if good.all() or not good.any():
        assert math.isnan(found.auc.value)
    else:
        assert found.auc.value == pytest.approx(sk.roc_auc_score(good, x), abs=1e-12)
    if not good.any():
        assert math.isnan(found.f1.value)
        assert math.isnan(found.decision.threshold)
        return
    f1, threshold = best_f1(x, good)
    called = x >= threshold
    assert found.f1.value == pytest.approx(f1, abs=1e-12)
    assert found.decision.threshold == threshold
    assert found.decision.accuracy == pytest.approx(sk.accuracy_score(good, called))
    assert found.decision.precision == pytest.approx(sk.precision_score(good, called))
    assert found.decision.recall == pytest.approx(sk.recall_score(good, called))
    assert found.decision.kappa == pytest.approx(cohen_kappa(good, called), nan_ok=True)


def rows_of(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    x = np.round(generator.random(n), 2)
    return x, (generator.random(n) < 0.2 + 0.6 * x).astype(float)


def test_kendall_interval_is_close_to_the_bootstrap() -> None:
    x, y = rows_of(150, 5)
    tau = associate(x, y).kendall
    generator = np.random.default_rng(0)
    picks = [generator.integers(0, 150, 150) for _ in range(600)]
    resampled = [stats.kendalltau(x[pick], y[pick]).statistic for pick in picks]
    low, high = np.quantile(resampled, [0.025, 0.975])
    assert (tau.low, tau.high) == pytest.approx((low, high), abs=0.04)


def test_order_does_not_change_bits() -> None:
    x, y = rows_of(90, 1)
    mixed = np.random.default_rng(2).permutation(90)
    assert associate(x[mixed], y[mixed], positive=1) == associate(x, y, positive=1)


def test_intervals_contain_the_figure_and_narrow_with_more_rows() -> None:
    few, many = (associate(*rows_of(n, 3), positive=1) for n in (30, 240))
    for found in (few, many):
        for name in ("pearson", "spearman", "kendall", "auc", "f1"):
            estimate = getattr(found, name)
            assert estimate.low < estimate.value < estimate.high
    assert many.auc.high - many.auc.low < few.auc.high - few.auc.low


def test_constant_columns_are_undefined() -> None:
    for x, y in (([0.1, 0.1, 0.1], [0, 1, 1]), ([1e15, 1e15 + 1, 1e15], [1, 1, 1])):
        found = associate(x, y, positive=1)
        assert all(math.isnan(getattr(found, name).value) for name in ("pearson", "spearman", "kendall"))
    empty = associate([], [], positive=1)
    assert empty.n == 0
    assert math.isnan(empty.auc.value)
    assert math.isnan(empty.decision.threshold)
    graded = associate([1.0, 2.0, 3.0], [1, 2, 3], threshold=2.0)
    assert graded.pearson.value == pytest.approx(1.0)
    assert math.isnan(graded.auc.value)
    assert math.isnan(graded.f1.value)
    assert math.isnan(graded.decision.accuracy)


def test_lists_of_any_length_in_slices_and_chunks() -> None:
    grades = [[9, 9, 9, 9], [1.0], None, [], [2, None, 4], [5, 6]]
    column = pa.chunked_array(
        [pa.array(grades[:3], pa.list_(pa.float64())), pa.array(grades[3:], pa.list_(pa.float64()))]
    )
    flags = pa.array([[True], [True, True], [False, False], [False], [True, False], None], pa.large_list(pa.bool_()))
    scores = {"f1": [0.3, 0.1, 0.4, 0.4, 0.9]}
    found = validate(scores, pa.table({"grades": column}).slice(1))
    assert (found["f1"].n, found.n_no_label) == (3, 2)
    assert found["f1"].pearson.value == pytest.approx(np.corrcoef([0.3, 0.4, 0.9], [1, 3, 5.5])[0, 1])
    assert found.raters is not None
    assert found.raters.alpha_interval.value == krippendorff_alpha([[2, 5], [None, 6], [4, None]], level="interval")
    mixed = validate(scores, pa.table({"flags": flags}).slice(1), positive=0.5)
    assert (mixed["f1"].n, mixed.n_no_label) == (4, 1)
    assert mixed["f1"].decision.threshold == 0.3


def test_rows_without_a_finite_score_are_excluded_and_counted() -> None:
    scores = [0.1, math.inf, 0.4, -math.inf, math.nan, 0.8]
    found = validate({"f1": scores}, [0, 1, 1, 0, 1, 1])["f1"]
    assert (found.n, found.n_no_score) == (3, 3)
    assert found.auc.value == 1.0


def test_published_scores_against_human_labels(data_folder) -> None:
    table = pq.read_table(data_folder / "dev" / "mtrag_human_eval.parquet")
    names = [name for name in table.column_names if name.startswith("official_")]
    found = validate(table.select(["id", *names]), table.select(["id", "human_faithfulness"]))
    assert found.raters is not None
    frame = table.to_pandas()
    for name, metric in found.items():
        both = frame[[name, "human_faithfulness_mean"]].dropna()
        expected = stats.spearmanr(both[name], both["human_faithfulness_mean"]).statistic
        assert metric.spearman.value == pytest.approx(expected, abs=1e-9)


def test_all_intervals_are_at_the_confidence():
    """Those of the metric, of its agreement with the label and of the raters: wider at a higher level."""
    rng = np.random.default_rng(7)
    labels = rng.integers(1, 4, 60).astype(float)
    table = {"id": range(60), "own": np.where(rng.random(60) < 0.7, labels, rng.integers(1, 4, 60))}
    people = {"id": range(60), "ann": labels, "bob": np.where(rng.random(60) < 0.8, labels, 1.0)}
    widths = []
    for confidence in (0.5, 0.95):
        validation = validate(table, people, label="ann", confidence=confidence)
        raters = validate(table, people, raters=["ann", "bob"], confidence=confidence).raters
        agreed = validation["own"].agreement
        intervals = [getattr(one.pairs[0], name) for one in (agreed, raters) for name in KAPPAS]
        intervals += [getattr(one, name) for one in (agreed, raters) for name in ALPHAS]
        intervals += [validation["own"].spearman]
        widths.append([interval.high - interval.low for interval in intervals])
    assert len(widths[0]) > 6
    assert all(narrow < wide for narrow, wide in zip(*widths, strict=True))
