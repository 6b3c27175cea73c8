"""Two independent samples: Welch as SciPy has it, the randomisation test by plain enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fastmetrics.stats import significance as tests
from fastmetrics.stats.estimates import Sample


def permutation_p(first, second, *options):
    return tests.permutation_p(Sample.of(first), Sample.of(second), *options)


def welch_p(first, second):
    return tests.welch_p(Sample.of(first), Sample.of(second))


samples = st.lists(st.integers(-3_000, 3_000).map(lambda score: score / 1_000), min_size=1, max_size=6)


def enumerated(first, second):
    """The share of all splits whose difference of means is at least the observed one."""
    values = first + second
    observed = abs(np.mean(second) - np.mean(first))
    far = splits = 0
    for rows in itertools.combinations(range(len(values)), len(second)):
        inside = [values[row] for row in rows]
        outside = [values[row] for row in range(len(values)) if row not in rows]
        far += abs(np.mean(inside) - np.mean(outside)) >= observed - 1e-9
        splits += 1
    return far / splits


@given(samples, samples, st.randoms())
def test_small_samples_are_enumerated(first, second, chance):
    p = permutation_p(np.array(first), np.array(second), 100, 0, 1)
    assert p == pytest.approx(enumerated(first, second))
    assert permutation_p(np.array(second), np.array(first), 7, 5, 2) == p
    shuffled = np.array(chance.sample(first, len(first)))
    assert permutation_p(shuffled, np.array(second), 9, 3, 1) == p


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=9), st.lists(st.floats(-3, 3), min_size=2, max_size=9))
def test_welch_is_that_of_scipy(first, second):
    if np.ptp(first) < 1e-6 or np.ptp(second) < 1e-6:
        return
    theirs = stats.ttest_ind(second, first, equal_var=False)
    assert welch_p(np.array(first), np.array(second)) == pytest.approx(theirs.pvalue, rel=1e-9)
    interval = tests.welch_interval(Sample.of(np.array(first)), Sample.of(np.array(second)), 0.95)
    assert (interval.low, interval.high) == pytest.approx(tuple(theirs.confidence_interval()), abs=1e-9)


def test_random_splits_reject_at_their_level():
    rng = np.random.default_rng(2)
    p = np.array([permutation_p(*np.split(rng.exponential(size=45), [15]), 199, seed, 1) for seed in range(1_000)])
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=0.02)
    assert (p <= 0.5).mean() == pytest.approx(0.5, abs=0.05)


def test_random_splits_are_symmetric_and_independent_of_threads():
    rng = np.random.default_rng(3)
    first, second = rng.random(900), rng.random(4_000) + 0.02
    p = permutation_p(first, second, 2_000, 4, 1)
    assert 0 < p < 1
    assert permutation_p(second, first, 2_000, 4, 2) == p
    assert permutation_p(first, rng.permutation(second), 2_000, 4, 2) == p


def test_what_two_values_cannot_tell_is_nan():
    one, none, same = np.array([0.5]), np.zeros(0), np.full(5, 0.5)
    assert math.isnan(welch_p(one, same))
    assert math.isnan(welch_p(same, same + 1))
    assert math.isnan(permutation_p(none, same, 10, 0, 1))
    assert permutation_p(same, same, 10, 0, 1) == 1.0


def test_few_rows_of_either_run_have_a_note():
    rng = np.random.default_rng(0)
    few, many = Sample.of(rng.random(19)), Sample.of(rng.random(20))
    notes = [tests.welch_interval(*pair, 0.95).note for pair in ((few, many), (many, few), (many, many))]
    assert notes == ["approximate: fewer than 20 rows or clusters in a run"] * 2 + [None]


@pytest.mark.parametrize("sign", [1, -1])
def test_the_skew_of_a_sum_and_of_a_difference(sign):
    """Third moments of independent means add up, and those of what is taken off count against them."""
    rng = np.random.default_rng(3)
    first, second = (Sample.of(rng.exponential(size=size)).spread for size in (30, 50))
    both = first.plus(second, sign)
    third = first.skew * first.error**3 + sign * second.skew * second.error**3
    assert both.skew == pytest.approx(third / both.error**3)
    assert first.skew > 0 < second.skew
