"""Tests and intervals of paired differences, held against SciPy, statsmodels, every pattern of signs, and chance."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

import fastmetrics as fm
from fastmetrics.kernels.resampling import flipped_sums, resampled_clusters, resampled_sums
from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.mean_interval import bootstrap_interval
from fastmetrics.stats.significance import detectable, effect_size, p_note, p_value, randomisation_p

RNG = np.random.default_rng(7)
SOME = st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, -0.1, -0.3, 0.5, 1.0, 1 / 3, 1e-9, 7e5]), min_size=1, max_size=9)


def of(values, clusters=None):
    return Sample.of(np.asarray(values, np.float64), None if clusters is None else np.asarray(clusters))


@given(SOME)
def test_few_rows_use_all_sign_patterns(values):
    """The twin counts in fractions (0.1 is a tenth), so that sums that are equal on paper are equal."""
    exact = [Fraction(value).limit_denominator(10**10) for value in values]
    sums = [
        sum(s * v for s, v in zip(signs, exact, strict=True)) for signs in itertools.product((1, -1), repeat=len(exact))
    ]
    assert randomisation_p(of(values), 10, 0, 1) == sum(abs(one) >= abs(sum(exact)) for one in sums) / len(sums)


def test_randomisation_p_of_many_rows_agrees_with_scipy():
    values = RNG.normal(0.12, 1, 300)
    mine = randomisation_p(of(values), 100_000, 3, 2)
    theirs = stats.permutation_test(
        (values, np.zeros(300)),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(0),
    ).pvalue
    assert mine == pytest.approx(theirs, abs=5 * math.sqrt(theirs * (1 - theirs) / 20_000))


def test_p_is_positive_and_counts_the_observed_pattern():
    assert randomisation_p(of(np.ones(100)), 999, 0, 1) == 1 / 1000
    assert randomisation_p(of(np.zeros(100)), 999, 0, 1) == 1.0


def test_equal_sums_count_as_equal():
    """Of ±0.1, …, with many patterns of the same sum, none may be lost to rounding."""
    values = np.tile([0.1, 0.2, -0.3], 8)[:21]
    shares = [randomisation_p(of(values * scale), 20_000, 5, 1) for scale in (1.0, 1e-300, 1e300, 0.7)]
    assert len(set(shares)) == 1
    assert shares[0] == 1.0


@pytest.mark.parametrize("n", [1, 8, 63, 64, 65, 129, 200])
def test_random_signs_are_fair_and_independent(n):
    """Of powers of 2 each sum tells all the signs."""
    draws = 4000
    seen = np.zeros((draws, n), np.int64)
    for row in range(0, n, 40):
        values = np.zeros(n, np.int64)
        some = np.arange(row, min(row + 40, n))
        values[some] = 1 << np.arange(len(some))
        out = np.empty(draws, np.int64)
        flipped_sums(values, np.uint64(9), 0, out)
        total = int(values.sum())
        subset = (total - out) // 2
        seen[:, some] = 1 - 2 * ((subset[:, None] >> np.arange(len(some))) & 1)
    assert np.isin(seen, (-1, 1)).all()
    assert np.abs(seen.mean(axis=0)).max() < 5.5 / math.sqrt(draws)
    related = np.corrcoef(seen.T) if n > 1 else np.ones((1, 1))
    assert np.abs(related - np.eye(n)).max() < 6 / math.sqrt(draws)
    shifted = (seen[1:] * seen[:-1]).mean(axis=0)
    assert np.abs(shifted).max() < 5.5 / math.sqrt(draws)


@pytest.mark.parametrize("n", [2, 5, 1023, 1024, 1025, 2500])
def test_bootstrap_draw_counts_are_multinomial(n):
    """Whole numbers tell how often some rows were drawn; the counts are those of a multinomial distribution."""
    draws = 3000
    watched = sorted({0, 1, n // 2, min(1023, n - 1), n - 2, n - 1})
    counts = []
    for row in watched:
        values = np.zeros(n, np.int64)
        values[row] = 1
        out = np.empty(draws, np.int64)
        resampled_sums(values, np.uint64(4), 0, out)
        counts.append(out)
    everything = np.empty(draws, np.int64)
    resampled_sums(np.ones(n, np.int64), np.uint64(4), 0, everything)
    assert (everything == n).all()
    spread = 1 - 1 / n
    for one in counts:
        assert one.mean() == pytest.approx(1, abs=5 * math.sqrt(spread / draws))
        assert one.var() == pytest.approx(spread, abs=0.25)
    if n > 2:
        assert np.cov(counts[0], counts[-1])[0, 1] == pytest.approx(-1 / n, abs=5 / math.sqrt(draws))


def test_bootstrap_draws_whole_clusters():
    values, sizes = np.array([5, 7, 11]), np.array([1, 2, 3])
    out, rows = np.empty(500, np.int64), np.empty(500, np.int64)
    resampled_clusters(values, sizes, np.uint64(1), 0, out, rows)
    of_counts = {
        (5 * a + 7 * b + 11 * c, a + 2 * b + 3 * c): (a, b, c)
        for a, b, c in itertools.product(range(4), repeat=3)
        if a + b + c == 3
    }
    assert {*zip(out.tolist(), rows.tolist(), strict=True)} == {*of_counts}


def test_intervals_agree_with_scipy():
    values = RNG.exponential(1, 80) - 0.8
    mine = bootstrap_interval(of(values), 0.9, 200_000, 1, 2)
    theirs = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=200_000,
        confidence_level=0.9,
        method="percentile",
        rng=np.random.default_rng(2),
        batch=10_000,
    ).confidence_interval
    assert mine == pytest.approx((theirs.low, theirs.high), abs=0.003)


def test_other_tests_equal_reference_packages():
    values = RNG.normal(0.1, 1, 60)
    values[:5] = 0.0
    assert p_value("t", of(values), 1, 0, 1) == pytest.approx(stats.ttest_1samp(values, 0).pvalue, rel=1e-9)
    assert p_value("wilcoxon", of(values), 1, 0, 1) == stats.wilcoxon(values[5:]).pvalue
    for wins, losses in ((9, 2), (4, 4), (1, 0), (30, 55)):
        flags = np.r_[np.ones(wins), -np.ones(losses), np.zeros(11)]
        first = (flags < 0).astype(float)
        theirs = mcnemar([[0, wins], [losses, 0]], exact=True).pvalue
        sample = Sample.between(first, first + flags, bounds=(0.0, 1.0))
        assert p_value("fisher", sample, 1, 0, 1) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("n", [3, 9, 12])
def test_wilcoxon_of_ties_counts_all_signs(n):
    values = np.random.default_rng(n).integers(1, 4, n) * np.random.default_rng(n + 1).choice([-1.0, 1.0], n)
    ranks = stats.rankdata(np.abs(values))
    sums = np.array([np.dot(signs, ranks) for signs in itertools.product((0, 1), repeat=n)])
    own = ranks[values > 0].sum()
    expected = min(1.0, 2 * min((sums <= own).mean(), (sums >= own).mean()))
    assert p_value("wilcoxon", Sample.of(np.append(values, [0.0, 0.0])), 1, 0, 1) == pytest.approx(expected, rel=1e-12)


def test_wilcoxon_of_ties_is_near_the_normal_approximation_where_that_begins():
    values = np.random.default_rng(2).integers(-4, 6, 260).astype(float)
    for n in (180, 260):
        some = values[:n][values[:n] != 0]
        assert p_value("wilcoxon", Sample.of(some), 1, 0, 1) == pytest.approx(stats.wilcoxon(some).pvalue, rel=0.03)


def test_wilcoxon_ties_what_differs_by_rounding_only():
    """Tenths and integers have the same ranks: 0.3 − 0.2 and 0.2 − 0.1 are tied."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        first, second = rng.integers(0, 11, (2, 60)).astype(float)
        tenths = Sample.between(first / 10, second / 10)
        assert p_value("wilcoxon", tenths, 1, 0, 1) == p_value("wilcoxon", Sample.between(first, second), 1, 0, 1)
    assert p_value("wilcoxon", Sample.between(np.array([0.1, 0.2, 0.3]), np.array([0.2, 0.3, 0.4])), 1, 0, 1) == 0.25


def test_p_of_few_skewed_differences_has_a_note():
    rng = np.random.default_rng(9)
    skewed, even = rng.exponential(1, 30) - 1, rng.normal(0, 1, 200)
    for test in ("fisher", "t", "wilcoxon"):
        assert p_note(test, Sample.of(skewed, None, (-9.0, 9.0))) == "approximate: the differences are few and skewed"
        assert p_note(test, Sample.of(even)) is None
    assert "rare large ones" in str(p_note("fisher", Sample.of(even[:60])))
    flags = Sample.between(np.zeros(20), np.repeat([0.0, 1.0], [15, 5]), bounds=(0.0, 1.0))
    assert p_note("fisher", flags) is None
    assert p_note("fisher", Sample.of(np.ones(1))) is None


@pytest.mark.parametrize("test", ["fisher", "t", "wilcoxon"])
def test_p_is_1_without_differences_and_undefined_without_rows(test):
    assert p_value(test, of(np.zeros(50)), 100, 0, 1) == 1.0
    assert math.isnan(p_value(test, of([]), 100, 0, 1))


def test_single_pair_has_p_1_and_undefined_interval():
    one = of([0.5])
    assert randomisation_p(one, 100, 0, 1) == 1.0
    assert all(map(math.isnan, (*bootstrap_interval(one, 0.95, 100, 0, 1), effect_size(one), detectable(one))))
    assert math.isnan(p_value("t", one, 1, 0, 1))


def test_signs_of_a_cluster_flip_together():
    """Rows of one cluster are one draw: the p is that of the clusters' sums, and there are 2³ patterns of three."""
    values, clusters = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [7, 7, 3, 3, 5, 5]
    assert randomisation_p(of(values, clusters), 10, 0, 1) == 2 / 8
    assert randomisation_p(of([0.3, 0.7, 1.1]), 10, 0, 1) == 2 / 8
    alone = of(values, range(6))
    assert alone.spread.error == pytest.approx(of(values).spread.error, rel=1e-9)
    together = of(np.repeat([0.1, 0.5, -0.2, 0.4], 25), np.repeat(range(4), 25))
    assert together.spread.error == pytest.approx(of([0.1, 0.5, -0.2, 0.4]).spread.error, rel=1e-9)
    low, high = bootstrap_interval(together, 0.95, 4000, 0, 1)
    assert (low, high) == pytest.approx(bootstrap_interval(of([0.1, 0.5, -0.2, 0.4]), 0.95, 4000, 0, 1), abs=0.06)


@pytest.mark.parametrize("n", [21, 1000, 9000])
def test_threads_do_not_change_results(n):
    values = RNG.normal(0, 1, n)
    clusters = np.arange(n) // 3
    for differences in (of(values), of(values, clusters)):
        found = {
            (randomisation_p(differences, 777, 1, t), *bootstrap_interval(differences, 0.9, 777, 1, t))
            for t in (1, 2, 5)
        }
        assert len(found) == 1


def test_effect_size_and_detectable_difference_by_hand():
    values = np.array([0.0, 1.0, 2.0, 3.0])
    assert effect_size(of(values)) == pytest.approx(1.5 / np.std(values, ddof=1))
    error = np.std(values, ddof=1) / 2
    expected = (stats.t.ppf(0.975, 3) + stats.t.ppf(0.8, 3)) * error
    assert detectable(of(values)) == pytest.approx(expected, rel=1e-9)


def test_t_interval_equals_scipy():
    random = np.random.default_rng(0)
    a, b = random.random(50), random.random(50)
    found = fm.compare({"a": {"id": range(50), "m": a}, "b": {"id": range(50), "m": b}}, interval="t", confidence=0.9)
    expected = stats.ttest_rel(b, a).confidence_interval(0.9)
    np.testing.assert_allclose([found[0].low, found[0].high], expected, rtol=1e-12)
    assert "90 % intervals: Student's t" in str(found)
    one = fm.compare({"a": {"id": [1], "m": [0.5]}, "b": {"id": [1], "m": [0.7]}}, interval="t")[0]
    assert np.isnan([one.low, one.high]).all()


def test_the_t_test_of_a_constant_gain_is_undefined():
    assert p_value("t", Sample.of(np.zeros(5)), 99, 0, 1) == 1.0
    assert math.isnan(p_value("t", Sample.of(np.full(5, 0.25)), 99, 0, 1))
