"""P values corrected together, letters, and the test of all pairs of several systems."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.significance import compact_letters, corrected, max_t_p, randomisation_p

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
