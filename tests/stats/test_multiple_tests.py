"""P values corrected together, letters, and the randomised Tukey HSD test."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from fastmetrics.kernels.resampling import permuted_ranges
from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.significance import compact_letters, corrected, randomisation_p, tukey_p

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


def test_tukey_equals_enumeration_of_permutations():
    """Three systems on three rows: all 6³ ways to deal out the scores."""
    scores = np.array([[0.1, 0.5, 0.9], [0.2, 0.2, 0.7], [0.0, 0.6, 0.5]])
    ranges = []
    for ways in itertools.product(itertools.permutations(range(3)), repeat=3):
        means = np.mean([scores[row, list(way)] for row, way in enumerate(ways)], axis=0)
        ranges.append(np.ptp(means))
    found = tukey_p(scores, 50_000, 1)
    for a, b in itertools.combinations(range(3), 2):
        share = np.mean(np.array(ranges) >= abs(scores[:, a].mean() - scores[:, b].mean()) - 1e-9)
        assert found[a, b] == found[b, a] == pytest.approx(share, abs=0.012)
    assert np.diag(found).tolist() == [1.0] * 3


def test_tukey_of_two_systems_equals_fisher_test():
    rng = np.random.default_rng(3)
    a = rng.normal(0, 1, 50)
    b = a + rng.normal(0.25, 1, 50)
    fisher = randomisation_p(Sample.of(b - a), 40_000, 0, 2)
    assert tukey_p(np.stack([a, b], 1), 40_000, 0)[0, 1] == pytest.approx(fisher, abs=0.015)


def test_orders_of_systems_are_equally_likely():
    """With one row the system that gets the greatest score is drawn fairly, and so is each pair."""
    for systems in (2, 3, 6, 9):
        values = np.zeros((1, systems), np.int64)
        values[0, 0] = 1
        out = np.empty(500, np.int64)
        permuted_ranges(values, np.uint64(2), 0, out)
        assert (out == 1).all()
    values = np.zeros((2, 6), np.int64)
    values[:, 0] = 1
    out = np.empty(30_000, np.int64)
    permuted_ranges(values, np.uint64(2), 0, out)
    assert np.mean(out == 2) == pytest.approx(1 / 6, abs=0.01)


def test_tukey_permutes_whole_clusters_and_ignores_threads():
    rng = np.random.default_rng(5)
    rows = rng.normal(0, 1, (8, 3))
    repeated, clusters = np.repeat(rows, 10, axis=0), np.repeat(np.arange(8), 10)
    whole = tukey_p(repeated, 3000, 0, clusters=clusters)
    assert whole.tolist() == tukey_p(rows, 3000, 0).tolist()
    many = rng.normal(0, 1, (2000, 3))
    assert tukey_p(many, 900, 0, 1).tolist() == tukey_p(many, 900, 0, 3).tolist()
