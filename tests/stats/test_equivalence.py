"""Equivalence and non-inferiority: statsmodels' two one-sided tests, the interval, and error rates at the margin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.weightstats import ttost_paired

from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.mean_interval import mean_interval
from fastmetrics.stats.significance import equivalence_p, not_worse_p, one_sided_p


def at(sample, kind="auto"):
    return lambda confidence: mean_interval(sample, confidence, kind)


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=20), st.floats(0.01, 0.5))
def test_p_of_t_intervals_is_that_of_statsmodels(values, margin):
    differences = np.array(values)
    if np.ptp(differences) < 1e-6:
        return
    interval = at(Sample.of(differences), "t")
    p, above, _ = ttost_paired(differences, np.zeros(len(values)), -margin, margin)
    for mine, theirs in ((equivalence_p(interval, margin), p), (not_worse_p(interval, margin), above[1])):
        assert mine == pytest.approx(max(theirs, 1e-12), rel=1e-6) if theirs < 0.5 else mine == 1.0


@given(st.integers(0, 10**6), st.sampled_from(["normal", "skewed", "flags", "rare", "clusters"]))
def test_p_agrees_with_the_interval(seed, kind):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    draw = {"flags": lambda: rng.integers(-1, 2, n), "rare": lambda: np.where(rng.random(n) < 0.05, -0.7, 0.0)}
    values = draw.get(kind, lambda: rng.beta(1 if kind == "skewed" else 5, 5, n) - 0.3)().astype(float)
    clusters = np.arange(n) // 3 if kind == "clusters" else None
    sample = (
        Sample.between(np.where(values > 0, 0.0, 1.0), np.where(values > 0, 0.0, 1.0) + values)
        if kind == "flags"
        else Sample.of(values, clusters, (-1.0, 1.0))
    )
    margin = float(rng.uniform(0.05, 0.5))
    equal, worse = equivalence_p(at(sample), margin), not_worse_p(at(sample), margin)
    for alpha in (0.01, 0.05, 0.2):
        found = mean_interval(sample, 1 - 2 * alpha)
        assert (equal <= alpha) == (-margin <= found.low and found.high <= margin)
        assert (worse <= alpha) == (found.low >= -margin)
    assert not_worse_p(at(sample), margin, lower_is_better=True) == one_sided_p(at(sample), margin, above=False)


@pytest.mark.parametrize("kind", ["normal", "near constant", "flags"])
def test_false_equivalence_at_the_margin_is_at_most_nominal(kind):
    """At the margin; t tests pass differences of which nearly all agree in up to 0.147 of the cases."""
    rng, equal, worse, trials = np.random.default_rng(1), 0, 0, 300
    shares = {"near constant": [0.1, 0.9, 0.0], "flags": [0.14, 0.82, 0.04]}.get(kind)
    drawn = rng.multinomial(60, shares, trials) if shares else rng.normal(0.1, 0.3, (trials, 40))
    for row, times in zip(*np.unique(drawn, axis=0, return_counts=True), strict=True):
        change = row if shares is None else np.repeat([1.0, 0.0, -1.0], row)
        first = np.where(change == 0, 1.0, (1 - change) / 2)
        bounds = {"normal": (-2.0, 2.0), "near constant": (-1.0, 1.0001)}.get(kind)
        sample = Sample.of(change, None, bounds) if bounds else Sample.between(first, first + change)
        equal += times * (equivalence_p(at(sample), 0.1) <= 0.05)
        worse += times * (not_worse_p(at(sample), 0.1, lower_is_better=True) <= 0.05)
    assert max(equal, worse) / trials <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / trials)


def test_identical_systems_are_equivalent_with_enough_rows():
    few, many = (Sample.of(np.zeros(n), None, (-1.0, 1.0)) for n in (50, 400))
    assert equivalence_p(at(few), 0.02) > 0.05 > equivalence_p(at(many), 0.02)
    assert equivalence_p(at(many), 0.02) == pytest.approx(0.98**400, rel=1e-6)


def test_without_an_interval_nothing_is_shown():
    assert math.isnan(equivalence_p(at(Sample.of(np.full(5, 0.3))), 0.1))
    assert math.isnan(not_worse_p(at(Sample.of(np.array([0.5]))), 0.1))
