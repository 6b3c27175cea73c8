"""Kendall's interval: its margin against derivatives taken by numbers, and how often it holds the truth."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fastmetrics.stats.association import associate
from tests.reference.association import tau_b, tau_b_error

FEW = st.integers(0, 2).map(float)
MANY = st.integers(-20, 20).map(float)


@given(st.lists(st.one_of(st.tuples(FEW, FEW), st.tuples(FEW, MANY), st.tuples(MANY, FEW)), min_size=3, max_size=12))
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_the_margin_is_that_of_the_infinitesimal_jackknife_whatever_is_tied(confidence, rows):
    x, y = [a for a, _ in rows], [b for _, b in rows]
    found = associate(x, y, resamples=1, confidence=confidence, threads=1).kendall
    tau = tau_b(x, y)
    if math.isnan(tau):
        assert all(math.isnan(value) for value in (found.value, found.low, found.high))
        return
    assert found.value == pytest.approx(tau, abs=1e-12)
    n, error = len(x), tau_b_error(x, y)
    if n < 4:
        assert found.note == "no interval: fewer than 4 rows"
    elif error < 1e-6 or abs(tau) > 1 - 1e-9:
        assert abs(tau) < 1 - 1e-9 or found.interval == "worst_case"
    else:
        margin = stats.t.ppf((1 + confidence) / 2, n - 1) * error * math.sqrt(n / (n - 1)) / (1 - tau * tau)
        low, high = (math.tanh(math.atanh(tau) + side * margin) for side in (-1, 1))
        assert found.low <= low + 1e-6
        assert found.high >= high - 1e-6
        assert found.low == pytest.approx(low, abs=1e-6) or found.high == pytest.approx(high, abs=1e-6)


def test_interval_of_a_perfect_order_is_what_pairs_of_rows_cannot_rule_out():
    found = associate(range(10), range(10)).kendall
    assert (found.value, found.high, found.interval) == (1.0, 1.0, "worst_case")
    assert ((1 + found.low) / 2) ** 5 == pytest.approx(0.025)
    turned = associate(range(10), range(10, 0, -1)).kendall
    assert (turned.low, turned.high) == (-1.0, -found.low)


@pytest.mark.slow
@pytest.mark.parametrize(
    "chances",
    [
        [[0.30, 0.10, 0.02], [0.05, 0.20, 0.05], [0.01, 0.07, 0.20]],
        [[0.70, 0.05], [0.05, 0.20]],
        [[0.02, 0.03, 0.15, 0.05], [0.30, 0.25, 0.15, 0.05]],
    ],
)
def test_the_interval_of_tied_rows_holds_the_truth_as_often_as_it_says(chances, full):
    """Samples of 200 rows of a known distribution: 95 % and 80 % intervals hold its tau-b in that share of samples."""
    table = np.array(chances)
    assert table.sum() == pytest.approx(1.0)
    places = list(itertools.product(*map(range, table.shape)))
    truth = tau_b([i for i, _ in places], [j for _, j in places], table.ravel().tolist())
    draws = np.random.default_rng(0).multinomial(1, table.ravel(), (400 if full else 120, 200)).argmax(axis=2)
    for confidence, least, most in ((0.95, 0.91, 0.98), (0.8, 0.75, 0.85)):
        held = 0
        for draw in draws:
            x, y = np.divmod(draw, table.shape[1])
            found = associate(x, y, resamples=1, confidence=confidence, threads=1).kendall
            held += found.low <= truth <= found.high
        slack = 0 if full else 0.02  # of fewer samples
        assert least - slack <= held / len(draws) <= most + slack
