"""Intervals that hold however often one looks: by plain bets, a published package's figures, and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.errors import InputError
from fastmetrics.stats.mean_interval import confidence_sequence, sequential_p
from tests.reference import confidence_sequences as reference

FLAGS = (np.random.default_rng(0).random(300) < 0.6).astype(float)
CONFSEQ = (0.42905, 0.62915)
"""``betting_cs`` of confseq 0.0.11 for FLAGS, with 20,000 breaks, running intersection and ``trunc_scale=0.5``."""


def test_interval_is_that_of_confseq():
    estimate = confidence_sequence(FLAGS, (0, 1))
    assert (estimate.low, estimate.high) == pytest.approx(CONFSEQ, abs=1 / 20_000)
    assert estimate.value == FLAGS.mean()


@given(st.lists(st.floats(0, 1), max_size=30), st.sampled_from([0.5, 0.8, 0.95]), st.floats(0.01, 0.99))
def test_interval_holds_the_means_that_no_bettor_refutes(shares, confidence, mean):
    estimate = confidence_sequence(np.array(shares), (0, 1), confidence)
    near = min(abs(mean - estimate.low), abs(mean - estimate.high)) < 1e-9
    assert near or reference.is_refuted(shares, mean, 1 - confidence) != (estimate.low < mean < estimate.high)
    p = sequential_p(np.array(shares), (0, 1), mean, confidence)
    assert near or (p <= 1 - confidence) == reference.is_refuted(shares, mean, 1 - confidence)


@given(st.lists(st.floats(-2, 3) | st.none(), max_size=20))
def test_bounds_scale_the_interval(values):
    scores = np.array([math.nan if value is None else value for value in values], np.float64)
    shares = (scores - -2) / 5
    estimate, plain = confidence_sequence(scores, (-2, 3)), confidence_sequence(shares, (0, 1))
    assert (estimate.low, estimate.high) == pytest.approx((plain.low * 5 - 2, plain.high * 5 - 2), abs=1e-9)
    mirrored = confidence_sequence(-scores, (-3, 2))
    assert (-mirrored.high, -mirrored.low) == pytest.approx((estimate.low, estimate.high), abs=1e-9)


def test_interval_only_narrows():
    """The interval of a longer prefix lies within that of a shorter one."""
    before = confidence_sequence(FLAGS[:0], (0, 1))
    assert (before.low, before.high, math.isnan(before.value)) == (0, 1, True)
    for n in range(1, 300, 7):
        now = confidence_sequence(FLAGS[:n], (0, 1))
        assert before.low <= now.low < now.high <= before.high
        before = now


@pytest.mark.slow
@pytest.mark.parametrize("draw", ["rare", "even", "uniform", "skewed"])
def test_false_alarms_under_a_look_after_every_row(draw):
    """The interval is the intersection over all looks, so one call per trial sees every look."""
    rng = np.random.default_rng(7)
    trials, n = 600, 400
    rows, mean = {
        "rare": ((rng.random((trials, n)) < 0.05).astype(float), 0.05),
        "even": ((rng.random((trials, n)) < 0.5).astype(float), 0.5),
        "uniform": (rng.random((trials, n)), 0.5),
        "skewed": (rng.beta(0.3, 2.7, (trials, n)), 0.1),
    }[draw]
    estimates = [confidence_sequence(row, (0, 1)) for row in rows]
    alarms = sum(not estimate.low <= mean <= estimate.high for estimate in estimates)
    assert alarms <= 0.05 * trials + 2 * math.sqrt(0.05 * 0.95 * trials)
    assert sum(sequential_p(row, (0, 1), mean) <= 0.05 for row in rows) == alarms


def test_student_intervals_fail_under_many_looks():
    """Why a sequence is needed: looking after each of 400 rows, t at 0.05 rejects a true mean in far more trials."""
    rows = np.random.default_rng(8).random((300, 400))
    n = np.arange(1, 401)
    means = rows.cumsum(axis=1) / n
    deviations = np.sqrt((rows**2).cumsum(axis=1) / n - means**2)
    beyond = np.abs(means - 0.5) > 1.96 * deviations / np.sqrt(n)
    assert beyond[:, 9:].any(axis=1).mean() > 0.2


@pytest.mark.parametrize(
    ("values", "bounds", "message"),
    [
        ([0.5, 1.5], (0, 1), "row 1: expected a score from 0 to 1, got 1.5"),
        ([0.5], (0, math.inf), "needs scores with a least and a greatest value"),
        ([0.5], (1, 1), "needs scores with a least and a greatest value"),
    ],
)
def test_scores_outside_bounds_raise(values, bounds, message):
    with pytest.raises(InputError, match=message):
        confidence_sequence(np.array(values), bounds)
