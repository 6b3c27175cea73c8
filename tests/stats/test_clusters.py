"""Opposed scores and clustered rows: figures by scikit-learn, resamples drawn by hand, coverage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from fastmetrics.stats.association import associate

FIGURES = ("pearson", "spearman", "auc", "f1")


def rows_of(groups: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores and labels of rows that share an effect within their group, and the groups."""
    generator = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(groups), size)
    shared = generator.normal(size=(2, groups))[:, clusters]
    own = generator.normal(size=(2, groups * size))
    score = 2 * shared[0] + own[0]
    return score, 0.5 * score + 2 * shared[1] + own[1], clusters


def by_hand(x: np.ndarray, y: np.ndarray, threshold: float) -> tuple[float, ...]:
    good = y >= 0
    one = stats.pearsonr(x, y).statistic, stats.spearmanr(x, y).statistic
    return (*one, sk.roc_auc_score(good, x), sk.f1_score(good, x >= threshold))


def test_groups_of_one_row_are_rows_and_their_order_is_no_matter() -> None:
    x, y, clusters = rows_of(15, 3, 2)
    order = np.lexsort((y, x))
    place = np.empty(45, np.int64)
    place[order] = np.arange(45)
    for figure in ("pearson", "spearman", "kendall", "auc"):
        by_group, by_row = (getattr(associate(x, y, positive=0.0, clusters=some), figure) for some in (place, None))
        assert (by_group.low, by_group.high) == pytest.approx((by_row.low, by_row.high), rel=1e-9)
    one = associate(x, y, positive=0.0, clusters=clusters)
    mixed = np.random.default_rng(1).permutation(45)
    assert associate(x[mixed], y[mixed], positive=0.0, clusters=clusters[mixed]) == one
    tied = np.round(x), np.round(y) + 0.0
    again = associate(tied[0][mixed], tied[1][mixed], positive=0.0, clusters=clusters[mixed])
    assert again == associate(*tied, positive=0.0, clusters=clusters)


def test_kendalls_margin_adds_up_within_groups() -> None:
    x, y, clusters = rows_of(40, 6, 4)
    alone, grouped = (associate(x, y, clusters=c).kendall for c in (None, clusters))
    assert grouped.value == alone.value
    resampled = []
    generator = np.random.default_rng(5)
    for _ in range(300):
        rows = np.concatenate([np.flatnonzero(clusters == one) for one in generator.integers(0, 40, 40)])
        resampled.append(stats.kendalltau(x[rows], y[rows]).statistic)
    low, high = np.quantile(resampled, [0.025, 0.975])
    assert (grouped.low, grouped.high) == pytest.approx((low, high), abs=0.05)
    assert grouped.high - grouped.low > 1.3 * (alone.high - alone.low)


def test_intervals_of_grouped_rows_cover_the_truth(full: bool) -> None:
    """In samples of 40 groups of 8 rows, 95 % intervals hold the true figures; those of rows alone do not."""
    samples = 300 if full else 120
    truth = by_hand(*rows_of(100_000, 2, 0)[:2], 0.0)
    tau = stats.kendalltau(*(part[::10] for part in rows_of(100_000, 2, 0)[:2])).statistic
    held = {name: [0, 0] for name in (*FIGURES, "kendall")}
    for seed in range(samples):
        x, y, clusters = rows_of(40, 8, seed + 1)
        for place, groups in enumerate((clusters, None)):
            found = associate(x, y, positive=0, threshold=0, clusters=groups)
            for name, value in zip((*FIGURES, "kendall"), (*truth, tau), strict=True):
                estimate = getattr(found, name)
                held[name][place] += estimate.low <= value <= estimate.high
    for name, (grouped, alone) in held.items():
        assert 0.90 * samples <= grouped <= (0.985 if full else 1) * samples, (name, grouped)
        assert alone < 0.82 * samples, (name, alone)


def test_an_opposed_score_is_turned_around() -> None:
    generator = np.random.default_rng(9)
    y = (generator.random(60) < 0.4).astype(float)
    x = np.round(generator.random(60) - 0.4 * y, 1)
    found = associate(x, y, positive=1, opposed=True)
    plain = associate(x, y, positive=1)
    for name in ("pearson", "spearman", "kendall"):
        assert getattr(found, name).value == pytest.approx(getattr(plain, name).value, abs=1e-12)
        assert getattr(found, name).low <= getattr(found, name).value <= getattr(found, name).high
    assert found.pearson.value < 0
    assert found.auc.value == pytest.approx(sk.roc_auc_score(y, -x))
    best = max((sk.f1_score(y, x <= cut), -cut) for cut in np.unique(x))
    assert (found.f1.value, found.decision.threshold) == (pytest.approx(best[0]), -best[1])
    called = x <= found.decision.threshold
    assert found.decision.accuracy == pytest.approx(sk.accuracy_score(y, called))
    assert found.decision.recall == pytest.approx(sk.recall_score(y, called))
    fixed = associate(x, y, positive=1, opposed=True, threshold=0.3)
    assert fixed.decision.threshold == 0.3
    assert fixed.f1.value == pytest.approx(sk.f1_score(y, x <= 0.3))
    zero = associate([0.0, 0.0, 1.0], [1, 1, 0], positive=1, opposed=True).decision.threshold
    assert (zero, math.copysign(1, zero)) == (0.0, 1.0)
