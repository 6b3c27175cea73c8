"""The prediction-powered mean: the definition, the package ``ppi-python``, how often its interval holds the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fastmetrics.stats.prediction_powered import powered_mean

NAN = math.nan


def made(seed, n, more, trust=0.8):
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, n + more).astype(float)
    scores = np.clip(np.rint(trust * truth + (1 - trust) * 3 + rng.normal(0, 0.8, n + more) + 0.4), 1, 5)
    return scores, np.where(np.arange(n + more) < n, truth, NAN)


def plain_definition(scores, labels, z):
    """The formula in plain Python."""
    y = [b for b in labels if not math.isnan(b)]
    f = [a for a, b in zip(scores, labels, strict=True) if not math.isnan(b)]
    g = [a for a, b in zip(scores, labels, strict=True) if math.isnan(b)]

    def mean(x):
        return sum(x) / len(x)

    def var(x):
        return mean([(one - mean(x)) ** 2 for one in x])

    cov = mean([(a - mean(y)) * (b - mean(f)) for a, b in zip(y, f, strict=True)])
    every = f + g
    lam = cov / (1 + len(f) / len(g)) / (var(every) * len(every) / (len(every) - 1))
    lam = min(max(lam, 0), 1)
    rest = [a - lam * b for a, b in zip(y, f, strict=True)]
    theta, s = lam * mean(g) + mean(rest), math.sqrt(lam**2 * var(g) / len(g) + var(rest) / len(y))
    return lam, theta, theta - z * s, theta + z * s


# mean, low and high of ppi-python 0.2.3 for these columns, at 95 %
PUBLISHED = {
    (1, 50, 500): (3.0842305244495636, 2.871590714551729, 3.296870334347398),
    (2, 30, 200): (3.0027519731500383, 2.6743541670945894, 3.331149779205487),
    (3, 200, 100): (2.9990267113385047, 2.8254308410051916, 3.172622581671818),
    (4, 100, 5000, 0.0): (3.218071379144316, 2.9393056567312965, 3.4968371015573356),
    (5, 40, 300, 1.5): (2.937950163135827, 2.7004159208723415, 3.1754844053993123),
}


@pytest.mark.parametrize("case", PUBLISHED)
def test_estimate_equals_package_and_definition(case):
    scores, labels = made(*case)
    found = powered_mean(scores, labels, interval="normal")
    mine = (found.lam, found.powered.value, found.powered.low, found.powered.high)
    assert mine == pytest.approx(plain_definition(scores.tolist(), labels.tolist(), 1.959963984540054), rel=1e-12)
    assert mine[1:] == pytest.approx(PUBLISHED[case], rel=1e-12)


@pytest.mark.parametrize("case", PUBLISHED)
def test_equivalent_formulas_agree(case):
    scores, labels = made(*case)
    found = powered_mean(scores, labels)
    both = ~np.isnan(labels)
    over_all = found.lam_over_all * scores.mean() + (labels - found.lam_over_all * scores)[both].mean()
    assert found.powered.value == pytest.approx(over_all, rel=1e-12)


def test_row_order_does_not_change_estimate():
    scores, labels = made(5, 40, 300)
    order = np.random.default_rng(0).permutation(len(scores))
    assert powered_mean(scores, labels) == powered_mean(scores[order], labels[order])


@pytest.mark.parametrize("trust", [0.0, 0.5, 0.9])
def test_interval_coverage_is_95_percent(trust, full):
    trials, held, narrower = 1500 if full else 300, 0, 0
    for seed in range(trials):
        scores, labels = made(seed, 100, 900, trust)
        found = powered_mean(scores, labels)
        held += found.powered.low <= 3.0 <= found.powered.high
        narrower += found.powered.high - found.powered.low <= found.plain.high - found.plain.low
    assert held / trials == pytest.approx(0.95, abs=0.02 if full else 0.04)
    assert narrower / trials > (0.99 if trust else 0.3)


@pytest.mark.parametrize(("share", "n"), [(0.8, 60), (0.9, 200), (0.9, 60)])
def test_bounds_of_flags_miss_no_more_often_than_they_may(share, n, full):
    """Each bound may miss in 2.5 % of the samples; without the skewness of few labels, the low one missed in 5 %."""
    trials, missed = 2_000 if full else 400, np.zeros(2)
    rng = np.random.default_rng(n)
    for _ in range(trials):
        labels = (rng.random(1_000) < share).astype(float)
        scores = np.where(rng.random(1_000) < 0.85, labels, 1 - labels)
        labels[n:] = NAN
        found = powered_mean(scores, labels).powered
        missed += found.low > share, found.high < share
    assert (missed / trials <= 0.025 + 2.5 * math.sqrt(0.025 / trials)).all(), missed / trials


def test_uninformative_judge_gives_the_mean_of_the_labels():
    for scores in ([3, 3, 3, 3, 3], [5, 4, 3, 2, 1]):
        found = powered_mean(scores, [1, 2, 3, NAN, NAN])
        assert (found.lam, found.lam_over_all, found.powered) == (0.0, 0.0, found.plain)
    assert powered_mean([0, 1, 2, 0, 1, 2], [0, 4, 8, NAN, NAN, NAN]).lam == 1.0  # 8/3 / 2 / 0.8 is larger
    whole = powered_mean([1, 2, 4], [1, 2, 3])
    assert (whole.lam, whole.powered.value, whole.n_judged) == (0.0, 2.0, 3)
    one = powered_mean([1, 2, 4], [4, NAN, NAN])
    assert (one.powered.value, math.isnan(one.powered.low), math.isnan(one.plain.high)) == (4.0, True, True)


def test_labelled_rows_without_a_score_are_excluded_and_counted():
    scores, labels = made(1, 20, 100)
    found = powered_mean(np.append(scores, [NAN, NAN]), np.append(labels, [5.0, NAN]))
    assert (found.n_no_score, found.n_labelled, found.n_judged) == (1, 20, 120)
    assert found.powered == powered_mean(scores, labels).powered
