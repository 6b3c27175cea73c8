"""Equivalence and non-inferiority: statsmodels' two one-sided tests, and their error rates at the margin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.weightstats import ttost_paired

from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.significance import equivalence_p, not_worse_p


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=20), st.floats(0.01, 0.5))
def test_p_is_that_of_statsmodels(values, margin):
    differences = np.array(values)
    if np.ptp(differences) < 1e-6:
        return
    sample = Sample.of(differences)
    p, above, _ = ttost_paired(differences, np.zeros(len(values)), -margin, margin)
    assert equivalence_p(sample.mean, sample.spread, margin) == pytest.approx(p, abs=1e-9)
    assert not_worse_p(sample.mean, sample.spread, margin) == pytest.approx(above[1], abs=1e-9)
    assert sample.spread.freedom == above[2]


def test_false_equivalence_at_the_margin_is_at_most_nominal():
    rng = np.random.default_rng(1)
    samples = [Sample.of(row) for row in rng.normal(0.1, 0.3, (2_000, 40))]
    rate = np.mean([equivalence_p(sample.mean, sample.spread, 0.1) <= 0.05 for sample in samples])
    assert rate <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 2_000)
    worse = np.mean([not_worse_p(-sample.mean, sample.spread, 0.1) <= 0.05 for sample in samples])
    assert worse == pytest.approx(0.05, abs=0.012)


def test_without_spread_nothing_is_shown():
    assert math.isnan(equivalence_p(0.0, Sample.of(np.zeros(5)).spread, 0.1))
    assert math.isnan(not_worse_p(0.0, Sample.of(np.zeros(1)).spread, 0.1))
