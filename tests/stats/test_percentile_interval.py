"""Intervals of percentiles: ranks of the binomial distribution, coverage, and what few or equal rows cannot tell."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from fastmetrics.stats.mean_interval import percentile_interval

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("n", [20, 60, 200, 1000])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.95])
def test_bounds_are_at_the_ranks_of_the_binomial_distribution(n, share):
    """The nearest ranks beyond which the percentile lies with a probability of at most 2.5 %."""
    found = percentile_interval(RNG.permutation(np.arange(1, n + 1)).astype(float), share)
    beyond = stats.binom.sf(np.arange(-1, n), n, share)  # that of at least 0 to n values below the percentile
    lower = max((rank for rank in range(1, n + 1) if 1 - beyond[rank] <= 0.025), default=-math.inf)
    upper = min((rank for rank in range(1, n + 1) if beyond[rank] <= 0.025), default=math.inf)
    assert (found.low, found.high, found.kind) == (lower, upper, "order")
    outside = math.isinf(lower) or math.isinf(upper)
    level = 1.0 if outside else beyond[lower] - beyond[upper]
    assert (found.note is not None) == (level > 0.97)
    assert ("open" in str(found.note)) == outside


def test_open_sides_end_at_the_bounds_of_the_metric():
    found = percentile_interval(RNG.random(20), 0.95, bounds=(0.0, 1.0))
    assert found.high == 1.0
    assert found.low > 0
    nothing = percentile_interval(np.zeros(0), 0.95)
    assert math.isnan(nothing.low)


def test_equal_values_make_it_wide():
    values = RNG.integers(1, 6, 400).astype(float)
    assert "many equal" in str(percentile_interval(values, 0.5).note)
    assert percentile_interval(RNG.random(400), 0.5).note is None


def test_clusters_count_as_fewer_rows():
    """Copies of a row tell no more than the row; independent rows tell as much in any clusters."""
    values = RNG.random(300)
    alone = percentile_interval(values, 0.5)
    copies = percentile_interval(np.repeat(values, 5), 0.5, clusters=np.repeat(np.arange(300), 5))
    assert (copies.low, copies.high) == pytest.approx((alone.low, alone.high), abs=0.01)
    assert percentile_interval(values, 0.5, clusters=np.arange(300) % 2).note.startswith("unreliable")
    assert percentile_interval(values, 0.5, clusters=np.zeros(300, int)).kind == "none"


def test_coverage_of_clusters():
    """60 clusters of 1 to 15 rows, whose values correlate with 0.5."""
    covered = []
    for _ in range(400):
        clusters = np.repeat(np.arange(60), RNG.integers(1, 16, 60))
        values = RNG.normal(size=60)[clusters] + RNG.normal(size=len(clusters))
        found = percentile_interval(values, 0.9, clusters=clusters)
        covered.append(found.low <= math.sqrt(2) * stats.norm.ppf(0.9) <= found.high)
    assert np.mean(covered) == pytest.approx(0.96, abs=0.025)
