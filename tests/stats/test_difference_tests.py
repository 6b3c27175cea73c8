"""Tests of differences, paired and not, many and within a margin: by SciPy, statsmodels and simulation."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import false_discovery_control
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.weightstats import ttost_paired

import fastmetrics as fm
from fastmetrics.kernels.resampling import flipped_sums, resampled_clusters, resampled_sums
from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.mean_interval import bootstrap_interval, mean_interval
from fastmetrics.stats.significance import (
    compact_letters,
    corrected,
    detectable,
    effect_size,
    equivalence_p,
    max_t_p,
    not_worse_p,
    one_sided_p,
    p_note,
    p_value,
    randomisation_p,
    unpaired_interval,
    unpaired_p,
)
from scripts import simulation

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


CHANCE = np.random.default_rng(4)
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
        first, second = CHANCE.beta(4, 4, 50), np.clip(CHANCE.beta(2, 2, 80) + shift, 0, 1)
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
        (lambda: CHANCE.normal(0, 1, 200), lambda: CHANCE.normal(0, 3, 30), None),
        (lambda: CHANCE.normal(0, 1, 500), lambda: CHANCE.normal(0, 3, 25), None),
        (lambda: CHANCE.beta(0.5, 3, 20), lambda: CHANCE.beta(0.5, 3, 200), None),
        (lambda: (CHANCE.random(40) < 0.98).astype(float), lambda: (CHANCE.random(500) < 0.98).astype(float), UNIT),
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


P = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), min_size=1, max_size=12)


@given(P)
def test_corrections_are_those_of_their_definitions(given_p):
    """As SciPy has it by Benjamini and Hochberg; by Holm, the largest earlier p times the tests that are left."""
    assert corrected(given_p, "bh") == pytest.approx(false_discovery_control(given_p).tolist(), abs=1e-12)
    left = {p: sum(other >= p for other in given_p) for p in given_p}
    holm = [min(1.0, max(left[other] * other for other in given_p if other <= p)) for p in given_p]
    assert corrected(given_p, "holm") == pytest.approx(holm, abs=1e-12)


def test_undefined_p_values_are_not_counted_as_tests():
    assert corrected([0.01, math.nan, 0.02], "holm")[::2] == [0.02, 0.02]
    assert math.isnan(corrected([0.01, math.nan], "holm")[1])
    assert corrected([0.3, 0.2], "none") == [0.3, 0.2]
    assert corrected([], "holm") == []


@given(
    st.integers(1, 7).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.sampled_from([*itertools.combinations(range(max(n, 2)), 2)])))
    )
)
def test_systems_share_a_letter_unless_they_differ_significantly(case):
    n, apart = case
    letters = compact_letters(n, lambda a, b: (a, b) in apart)
    for a, b in itertools.combinations(range(n), 2):
        assert bool(set(letters[a]) & set(letters[b])) == ((a, b) not in apart)
    assert all(letters)
    groups = [{at for at in range(n) if letter in letters[at]} for letter in sorted(set("".join(letters)))]
    assert not any(one <= other for one, other in itertools.permutations(groups, 2))


def test_letters_after_z_have_numbers():
    letters = compact_letters(30, lambda a, b: True)
    assert (letters[0], letters[25], letters[26], len({*letters})) == ("a", "z", "a1", 30)


def test_all_pairs_equal_the_enumeration_of_signs():
    """Three systems on five rows: all 2⁵ signs of the rows' differences, which all pairs share."""
    scores = np.array([[0.1, 0.5, 0.9], [0.2, 0.2, 0.7], [0.0, 0.6, 0.5], [0.3, 0.1, 0.8], [0.2, 0.4, 0.4]])
    pairs = list(itertools.combinations(range(3), 2))

    def statistics(signs):
        apart = [(scores[:, a] - scores[:, b]) * signs for a, b in pairs]
        return [own.sum() ** 2 / (own**2).sum() for own in apart]

    largest = np.array([max(statistics(np.array(signs))) for signs in itertools.product((1, -1), repeat=5)])
    found = max_t_p(scores, 50_000, 1)
    for (a, b), own in zip(pairs, statistics(np.ones(5)), strict=True):
        assert found[a, b] == found[b, a] == pytest.approx(np.mean(largest >= own - 1e-9), abs=0.012)
    assert np.diag(found).tolist() == [1.0] * 3


def test_all_pairs_of_two_systems_are_fishers_test():
    rng = np.random.default_rng(3)
    a = rng.normal(0, 1, 50)
    b = a + rng.normal(0.25, 1, 50)
    fisher = randomisation_p(Sample.of(b - a), 40_000, 0, 2)
    assert max_t_p(np.stack([a, b], 1), 40_000, 0)[0, 1] == fisher


def test_all_pairs_flip_whole_clusters_and_ignore_threads():
    rng = np.random.default_rng(5)
    rows = rng.normal(0, 1, (8, 3))
    repeated, clusters = np.repeat(rows, 10, axis=0), np.repeat(np.arange(8), 10)
    whole = max_t_p(repeated, 3000, 0, clusters=clusters)
    assert whole.tolist() == max_t_p(rows, 3000, 0).tolist()
    many = rng.normal(0, 1, (2000, 3))
    assert max_t_p(many, 900, 0, 1).tolist() == max_t_p(many, 900, 0, 3).tolist()


def test_near_copies_are_judged_by_their_own_spread():
    """Four near copies and one other system, all equal: a letter that differs is a false alarm."""
    rng, alarms = np.random.default_rng(6), 0
    for seed in range(400):
        question = rng.normal(0.5, 0.2, (40, 1))
        copies = question + rng.normal(0, 0.1, (40, 1)) + rng.normal(0, 0.005, (40, 4))
        scores = np.hstack([copies, question + rng.normal(0, 0.25, (40, 1))])
        alarms += bool((max_t_p(scores, 199, seed, 1) <= 0.05).any())
    assert alarms / 400 <= 0.06 + 2 * math.sqrt(0.05 * 0.95 / 400)
    better = copies + np.array([0.0, 0.0, 0.0, 0.02])
    assert max_t_p(better, 999, 0)[0, 3] <= 0.01


def test_copies_that_differ_by_rounding_do_not_differ():
    scores = np.random.default_rng(7).random((30, 1))
    assert (max_t_p(np.hstack([scores, scores + 1e-16, scores * (1 + 1e-16)]), 99, 0) == 1).all()


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
def test_p_of_equivalence_agrees_with_the_interval(seed, kind):
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


STORED = json.loads(simulation.RESULTS.read_text(encoding="utf-8"))
EVERY = list(simulation.cells())


@pytest.mark.parametrize("quantity", dict.fromkeys(cell.quantity for cell in EVERY))
def test_a_few_trials_of_each_quantity(quantity):
    place = max(place for place, cell in enumerate(EVERY) if cell.quantity == quantity and cell.n <= 20)
    tally = simulation.simulated(place, 10)
    entries = simulation.entries_of(EVERY[place], tally)
    assert entries
    for entry in entries:
        assert entry["claim"] in simulation.NOMINAL
        assert entry["trials"] >= 10
        assert 0 <= entry["unnoted_wrong"] <= entry["wrong"] <= 1


@pytest.mark.parametrize("kind", simulation.RATINGS)
def test_figures_of_joint_shares_are_those_of_many_ratings(kind):
    table = simulation.RATINGS[kind]
    counts = np.rint(table * 4000).astype(int).ravel()
    first, second = np.unravel_index(np.repeat(np.arange(table.size), counts), table.shape)
    found = fm.validate({"m": first.astype(float)}, second.astype(float))["m"]
    agreed = found.agreement
    figures = {name: getattr(found, name).value for name in ("pearson", "spearman", "kendall")}
    figures |= {"kappa": agreed.pairs[0].kappa.value, "alpha": agreed.alpha_nominal.value}
    assert figures == pytest.approx(simulation.agreement_of(table), abs=1e-3)


def test_the_page_has_the_stored_results_of_all_cells():
    assert simulation.section(STORED) in simulation.PAGE.read_text(encoding="utf-8")
    stored = {(entry["quantity"].partition(",")[0], entry["data"], entry["n"]) for entry in STORED["entries"]}
    assert stored == {(cell.quantity, cell.data, cell.n) for cell in EVERY}
