"""Two independent samples: Welch as SciPy has it, the interval from both means, and the p at which it ends at 0."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.mean_interval import mean_interval
from fastmetrics.stats.significance import unpaired_interval, unpaired_p

RNG = np.random.default_rng(4)
UNIT = (0.0, 1.0)


@given(st.integers(20, 90), st.integers(20, 90), st.floats(0.2, 5), st.integers(0, 10**6))
def test_welch_is_that_of_scipy_where_scores_are_straight(first, second, ratio, seed):
    rng = np.random.default_rng(seed)
    first, second = rng.random(first), ratio * rng.random(second) - ratio / 2
    pair = Sample.of(first), Sample.of(second)
    theirs = stats.ttest_ind(second, first, equal_var=False)
    found = unpaired_interval(*pair, 0.95)
    if found.kind == "welch":
        assert unpaired_p(*pair) == pytest.approx(theirs.pvalue, rel=1e-9)
        assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval()))
    else:
        assert abs(stats.skew(first)) > 0.1 or abs(stats.skew(second)) > 0.1
    asked = unpaired_interval(*pair, 0.95, "t")
    assert (asked.kind, unpaired_p(*pair, "t")) == ("welch", pytest.approx(theirs.pvalue, rel=1e-9))


def test_interval_adds_the_squared_reach_of_both_means():
    """Newcombe's method 10, with the exact intervals of Clopper and Pearson in place of Wilson's."""
    first, second = np.repeat([1.0, 0.0], [56, 14]), np.repeat([1.0, 0.0], [48, 32])
    one, other = (stats.binomtest(int(flags.sum()), len(flags)).proportion_ci() for flags in (first, second))
    delta = 48 / 80 - 56 / 70
    low = delta - math.sqrt((48 / 80 - other.low) ** 2 + (one.high - 56 / 70) ** 2)
    high = delta + math.sqrt((other.high - 48 / 80) ** 2 + (56 / 70 - one.low) ** 2)
    first, second = (Sample.of(flags, None, UNIT) for flags in (first, second))
    found = unpaired_interval(first, second, 0.95)
    assert (found.low, found.high, found.kind) == (pytest.approx(low), pytest.approx(high), "combined")
    turned = unpaired_interval(second, first, 0.95)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))


@pytest.mark.parametrize("kind", ["numbers", "skewed", "flags", "clusters"])
def test_p_agrees_with_the_interval(kind):
    for shift in np.linspace(0, 0.4, 9):
        first, second = RNG.beta(4, 4, 50), np.clip(RNG.beta(2, 2, 80) + shift, 0, 1)
        if kind == "skewed":
            first, second = first**6, second**6
        if kind == "flags":
            first, second = (first > 0.5).astype(float), (second > 0.5).astype(float)
        groups = [None, None] if kind != "clusters" else [np.arange(50) // 3, np.arange(80) // 4]
        pair = [Sample.of(*one, UNIT) for one in zip((first, second), groups, strict=True)]
        p = unpaired_p(*pair)
        for confidence in (0.5, 0.9, 0.95, 0.99):
            found = unpaired_interval(*pair, confidence)
            assert (p <= 1 - confidence) == (not found.low <= 0 <= found.high)


def test_a_run_without_variance_is_no_certainty():
    """40 ones against 980 ones and 20 zeros: as many of the 40 could be zeros."""
    ones, mixed = np.ones(40), np.repeat([1.0, 0.0], [980, 20])
    ones, mixed = (Sample.of(flags, None, UNIT) for flags in (ones, mixed))
    found = unpaired_interval(ones, mixed, 0.95)
    assert found.low < 0 < found.high
    assert unpaired_p(ones, mixed) > 0.3
    equal = unpaired_interval(Sample.of(np.full(9, 0.5), None, UNIT), Sample.of(np.full(9, 0.5), None, UNIT), 0.95)
    assert equal.low == -equal.high < 0


def test_what_two_values_cannot_tell_is_nan():
    one, same, free = (Sample.of(values) for values in (np.array([0.5]), np.full(5, 0.5), np.arange(5.0)))
    assert math.isnan(unpaired_p(one, same))
    assert math.isnan(unpaired_p(same, same))
    found = unpaired_interval(same, free, 0.95)
    assert (math.isnan(found.low), found.kind) == (True, "none")
    assert "bounds of the metric are not declared" in str(found.note)
    assert math.isnan(unpaired_p(same, free))


def test_notes_are_those_of_both_runs():
    few, many = (Sample.of(np.linspace(0.1, 0.9, n), None, UNIT) for n in (19, 200))
    differ = Sample.of(np.repeat([0.5, 0.4], [97, 3]), None, UNIT)
    assert unpaired_interval(many, many, 0.95).note is None
    assert unpaired_interval(few, many, 0.95).note == mean_interval(few).note
    assert unpaired_interval(few, differ, 0.95).note == f"{mean_interval(few).note}; {mean_interval(differ).note}"


@pytest.mark.parametrize(
    ("first", "second", "bounds"),
    [
        (lambda: RNG.normal(0, 1, 200), lambda: RNG.normal(0, 3, 30), None),
        (lambda: RNG.normal(0, 1, 500), lambda: RNG.normal(0, 3, 25), None),
        (lambda: RNG.beta(0.5, 3, 20), lambda: RNG.beta(0.5, 3, 200), None),
        (lambda: (RNG.random(40) < 0.98).astype(float), lambda: (RNG.random(500) < 0.98).astype(float), UNIT),
    ],
    ids=["unequal spread", "more unequal", "skewed", "rare zeros"],
)
def test_equal_means_are_rarely_told_apart(first, second, bounds):
    """A permutation of raw means rejects the first two in 0.32 and 0.43 of all cases."""
    outside = 0
    for _ in range(600):
        found = unpaired_interval(Sample.of(first(), None, bounds), Sample.of(second(), None, bounds), 0.95)
        outside += not found.low <= 0 <= found.high
    assert outside / 600 <= 0.06 + 2 * math.sqrt(0.05 * 0.95 / 600)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_skew_of_a_sum_and_of_a_difference(sign):
    """Third moments of independent means add up, and those of what is taken off count against them."""
    rng = np.random.default_rng(3)
    first, second = (Sample.of(rng.exponential(size=size)).spread for size in (30, 50))
    both = first.plus(second, sign)
    third = first.skew * first.error**3 + sign * second.skew * second.error**3
    assert both.skew == pytest.approx(third / both.error**3)
    assert first.skew > 0 < second.skew
