"""How often the 95 % intervals of κ, α and AUC contain the true figure: near the level without a note."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastmetrics as fm

RIGHT = 0.85
"""The share of units in which each of two raters sees the truth."""


@pytest.fixture
def trials(full):
    return 250 if full else 80


def kappa(share):
    """κ of two raters who each err by themselves; α is the same for so many units, since their habits are equal."""
    ones = share * RIGHT + (1 - share) * (1 - RIGHT)
    agree, chance = RIGHT**2 + (1 - RIGHT) ** 2, ones**2 + (1 - ones) ** 2
    return (agree - chance) / (1 - chance)


@pytest.mark.parametrize("n", [20, 60, 200])
def test_alpha_holds_at_least_its_level(n, trials):
    """Over 1,500 trials, 98.5 % of the intervals of 20 units contain α, and 96.3 % of those of 200."""
    rng, held = np.random.default_rng(n), 0
    for _ in range(trials):
        truth = rng.random(n) < 0.5
        first, second = (np.where(rng.random(n) < RIGHT, truth, ~truth).astype(int) for _ in range(2))
        found = fm.stats.agreement({"a": first, "b": second}).alpha_nominal
        held += found.low <= kappa(0.5) <= found.high
    assert held / trials >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / trials)


@pytest.mark.parametrize("n", [40, 200])
def test_auc_and_kappa_hold_their_level_or_have_a_note(n, trials):
    """AUC of normal scores a standard deviation apart; κ of the labels and a rater that errs by itself."""
    rng, auc, pair = np.random.default_rng(n), [], []
    area = 0.5 * (1 + math.erf(0.5))  # Φ(1/√2)
    for _ in range(trials // 2):
        truth = rng.random(n) < 0.5
        labels, judge = (np.where(rng.random(n) < RIGHT, truth, ~truth).astype(float) for _ in range(2))
        found = fm.validate({"my_score": rng.normal(labels, 1), "judge": judge}, {"correct": labels})
        one = found["my_score"].auc
        auc.append(one.low <= area <= one.high or one.note is not None)
        two = found["judge"].agreement.pairs[0].kappa
        pair.append(two.low <= kappa(0.5) <= two.high or two.note is not None)
    least = 0.95 - 3 * math.sqrt(0.05 * 0.95 / len(auc))
    assert (np.mean(auc) >= least, np.mean(pair) >= least) == (True, True), (np.mean(auc), np.mean(pair))
