"""Intervals of correlations, AUC, κ and α: the influence of rows by numbers, rare classes, and how often they hold."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats
from sklearn.metrics import balanced_accuracy_score, f1_score, matthews_corrcoef, roc_auc_score

import fastmetrics as fm
from fastmetrics.stats.association import associate
from fastmetrics.stats.figures import Pairs, correlation_of
from fastmetrics.stats.raters import ALPHAS, KAPPAS, alpha_of, read_ratings
from tests.reference.association import tau_b


def weighted_pearson(x, y, weights):
    table = np.cov(x, y, aweights=weights, ddof=0)
    return table[0, 1] / math.sqrt(table[0, 0] * table[1, 1])


def ranks(values, weights):
    return np.array([weights @ (values < one) + weights @ (values == one) / 2 for one in values])


def weighted_kappa(power):
    def figure(x, y, weights):
        distance = np.abs(x[:, None] - y) ** power if power else (x[:, None] != y).astype(float)
        return 1 - (weights @ np.diag(distance)) * weights.sum() / (weights @ distance @ weights)

    return figure


FIGURES = {
    "pearson": (Pairs.pearson, weighted_pearson),
    "spearman": (Pairs.spearman, lambda x, y, weights: weighted_pearson(ranks(x, weights), ranks(y, weights), weights)),
    "kendall": (Pairs.kendall, lambda x, y, weights: tau_b(x.tolist(), y.tolist(), weights.tolist())),
    "auc": (lambda pairs: pairs.auc(2), lambda x, y, weights: 2 * roc_auc_score(y >= 2, x, sample_weight=weights) - 1),
    "macro F1": (Pairs.mean_f1, lambda x, y, weights: 2 * f1_score(y, x, sample_weight=weights, average="macro") - 1),
    "weighted F1": (
        lambda pairs: pairs.mean_f1(weighted=True),
        lambda x, y, weights: 2 * f1_score(y, x, sample_weight=weights, average="weighted") - 1,
    ),
    "balanced accuracy": (
        Pairs.balanced_accuracy,
        lambda x, y, weights: 2 * balanced_accuracy_score(y, x, sample_weight=weights) - 1,
    ),
    "mcc": (Pairs.mcc, lambda x, y, weights: matthews_corrcoef(y, x, sample_weight=weights)),
    **{f"kappa {p}": (lambda pairs, p=p: pairs.kappa(p), weighted_kappa(p)) for p in (0, 1, 2)},
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_influence_of_a_row_is_the_change_of_the_figure_with_its_weight(name):
    of_pairs, figure = FIGURES[name]
    rng = np.random.default_rng(3)
    x = rng.integers(0, 4, 25).astype(float)
    y = np.clip(x + rng.integers(-1, 2, 25), 0, 3)
    pairs = Pairs.of(x, y, one_scale=True)
    found, weights, step = of_pairs(pairs), pairs.weights, 1e-5
    assert found.value == pytest.approx(figure(pairs.x, pairs.y, weights), abs=1e-9)
    for place in (0, 7, 24, 26, len(weights) - 2):
        more, less = (
            figure(pairs.x, pairs.y, weights + side * step * (np.arange(len(weights)) == place)) for side in (1, -1)
        )
        expected = (more - less) / (2 * step) * weights.sum()
        own = found.added[place - 25] if place >= 25 else found.rows[pairs.order[place]]
        assert own == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_the_influence_of_a_unit_is_the_change_of_alpha_with_its_weight(level):
    """By definition, from the pairs of ratings of units that weigh more or less; units have two or three ratings."""
    rng = np.random.default_rng(1)
    table = rng.integers(1, 5, (3, 12)).astype(float)
    table[2, 5:] = np.nan
    units = [column[~np.isnan(column)] for column in table.T]

    def apart(first, second):
        return (first[:, None] != second).sum() if level == "nominal" else ((first[:, None] - second) ** 2).sum()

    def defined(weights):
        n = sum(weight * len(unit) for weight, unit in zip(weights, units, strict=True))
        within = sum(w * apart(unit, unit) / (len(unit) - 1) for w, unit in zip(weights, units, strict=True))
        between = sum(
            v * w * apart(a, b)
            for v, a in zip(weights, units, strict=True)
            for w, b in zip(weights, units, strict=True)
        )
        return 1 - (n - 1) * within / between

    found, step = alpha_of(read_ratings(list(table)), level), 1e-5
    assert found.value == pytest.approx(defined(np.ones(12)))
    changes = [
        (defined(np.ones(12) + step * own) - defined(np.ones(12) - step * own)) / (2 * step) * 12 for own in np.eye(12)
    ]
    assert found.rows == pytest.approx(np.array(changes) - np.mean(changes), abs=1e-6)


def test_raters_who_never_name_the_same_unit_may_still_do_so():
    """Each of two raters names 6 of 60 units; independent raters have κ = 0, which the interval has to contain."""
    first, second = np.repeat([0, 1, 1], [6, 6, 48]), np.repeat([1, 0, 1], [6, 6, 48])
    found = fm.stats.agreement({"ann": first, "bob": second})
    phi = associate(first, second).pearson
    assert phi.value == pytest.approx(-1 / 9)
    for interval in (found.pairs[0].kappa, found.alpha_nominal, phi):
        assert interval.low < -1 / 9 < 0.1 < interval.high
        assert interval.note is None or interval.note == "wider than its level needs: few rows decide the figure"


def test_clusters_widen_the_intervals_of_agreement():
    rng = np.random.default_rng(0)
    truth, clusters = np.repeat(rng.random(30) < 0.5, 6), np.repeat(np.arange(30), 6)
    habit = np.repeat(rng.random((2, 30)) < 0.8, 6, axis=1)
    table = {"ann": np.where(habit[0], truth, ~truth).astype(int), "bob": np.where(habit[1], truth, ~truth).astype(int)}
    alone, grouped = fm.stats.agreement(table), fm.stats.agreement(table, clusters=clusters)
    for name in (*KAPPAS, *ALPHAS):
        one, other = (getattr(found.pairs[0] if name in KAPPAS else found, name) for found in (alone, grouped))
        assert other.high - other.low > 1.5 * (one.high - one.low)
    by_text = fm.stats.agreement(table, clusters=[f"c{one:02}" for one in clusters])
    assert by_text == grouped
    labels = pa.table({"ann": table["ann"], "bob": table["bob"], "session": clusters})
    validated = fm.validate({"fit": rng.random(180)}, labels, raters="ann,bob", cluster="session")
    assert validated.raters == grouped


def test_a_perfect_figure_has_an_interval_below_it():
    found = associate(np.arange(20), np.arange(20) >= 10, positive=1)
    assert (found.auc.value, found.auc.high) == (1.0, 1.0)
    assert 0.5 < found.auc.low < 0.97
    agreed = fm.stats.agreement([[0, 1] * 10, [0, 1] * 10])
    assert agreed.pairs[0].kappa.value == 1.0
    assert 0.2 < agreed.pairs[0].kappa.low < 0.97


@pytest.mark.parametrize(("rho", "n"), [(0.99, 20), (0.5, 50), (0.0, 100)])
def test_pearson_of_normal_values_has_fishers_interval(rho, n):
    """That of SciPy, or wider by what the rows say beyond it."""
    wider = []
    for seed in range(20):
        x, y = np.random.default_rng([seed, n]).multivariate_normal([0, 0], [[1, rho], [rho, 1]], n).T
        found, peer = associate(x, y).pearson, scipy.stats.pearsonr(x, y).confidence_interval()
        assert (found.low <= peer.low + 1e-12, found.high >= peer.high - 1e-12) == (True, True)
        wider.append((math.atanh(found.high) - math.atanh(found.low)) / (math.atanh(peer.high) - math.atanh(peer.low)))
    assert np.median(wider) < 1.06


def test_a_correlation_that_few_rows_make_says_so():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 100))
    assert associate(x, y).pearson.note is None
    x[:2], y[:2] = (20, 30), (25, 25)
    assert associate(x, y).pearson.note == "approximate: few rows far from the others decide the figure"
    assert associate(x, y).pearson.low < 0.7


@pytest.mark.parametrize(
    ("n", "far", "least", "most"), [(20, 0, 0, 0.06), (60, 0, 0, 0.06), (60, 3, 0.85, 1), (200, 10, 0.97, 1)]
)
def test_rows_far_from_the_others_are_noted_where_they_decide_and_seldom_else(n, far, least, most):
    noted = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, n])
        x, y = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], n).T
        x[:far], y[:far] = 6 * rng.normal(size=(2, far))
        noted += "far from the others" in (correlation_of(Pairs.of(x, y), "pearson", 0.95).note or "")
    assert least <= noted / 200 <= most


@pytest.mark.parametrize(("figure", "rho", "n"), [("spearman", 0.99, 10), ("pearson", 0.9, 10), ("kendall", 0.9, 20)])
def test_correlations_of_few_normal_values_hold_their_level(figure, rho, n, full):
    rng, held, trials = np.random.default_rng(n), 0, 1_000 if full else 200
    r = {"pearson": rho, "spearman": 6 / math.pi * math.asin(rho / 2), "kendall": 2 / math.pi * math.asin(rho)}[figure]
    for _ in range(trials):
        x, y = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n).T
        found = getattr(associate(x, y), figure)
        held += found.low <= r <= found.high
    assert held / trials >= 0.92


RARE = [(60, 0.1, 0.1, 0.0), (60, 0.1, 0.1, 0.4), (200, 0.05, 0.05, 0.0), (100, 0.3, 0.3, 0.8), (200, 0.5, 0.5, 0.4)]


@pytest.mark.parametrize(("n", "one", "other", "kappa"), RARE)
def test_intervals_of_kappa_phi_and_alpha_hold_for_rare_classes(n, one, other, kappa, full):
    """Every table of counts that occurs, with the share of samples in which it does."""
    both = one * other + kappa / 2 * (one + other - 2 * one * other)
    cells = [both, one - both, other - both, 1 - one - other + both]
    phi = (both - one * other) / math.sqrt(one * other * (1 - one) * (1 - other))
    tables, times = np.unique(
        np.random.default_rng(n).multinomial(n, cells, 2_000 if full else 160), axis=0, return_counts=True
    )
    held, silent = dict.fromkeys(("kappa", "phi", "alpha"), 0), 0
    for counts, share in zip(tables, times / times.sum(), strict=True):
        first, second = np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)
        if len(set(first)) < 2 or len(set(second)) < 2:
            held = {name: sum_ + share for name, sum_ in held.items()}  # undefined
            continue
        found = fm.stats.agreement({"a": first, "b": second})
        figures = {
            "kappa": (found.pairs[0].kappa, kappa),
            "phi": (associate(first, second).pearson, phi),
            "alpha": (found.alpha_nominal, kappa),
        }
        for name, (interval, truth) in figures.items():
            held[name] += share * (interval.low <= truth <= interval.high)
        silent += share * (found.pairs[0].kappa.note is None)
    assert min(held.values()) >= 0.925, held
    assert max(held.values()) <= 0.99 or silent < 0.5, held  # samples of one class count as held


@pytest.mark.parametrize("shift", [0.0, 1.0, 2.0])
def test_intervals_of_auc_hold_for_five_positives_of_a_hundred(shift, full):
    rng, truth, held, trials = np.random.default_rng(7), scipy.stats.norm.cdf(shift / math.sqrt(2)), 0, 0
    labels = np.repeat([1.0, 0.0], [5, 95])
    for _ in range(600 if full else 150):
        found = associate(rng.normal(shift * labels), labels, positive=1).auc
        held, trials = held + (found.low <= truth <= found.high), trials + 1
    assert held / trials >= 0.94
