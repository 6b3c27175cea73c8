"""Geometry beyond the budget: stated errors against what repeated samples do, bounds, and pairs that are no pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fastmetrics.base.errors import OptionError
from fastmetrics.vectors.geometry_values import geometry
from fastmetrics.vectors.neighbors import nearest

PAIRWISE = {"avg_pairwise_distance", "std_pairwise_distance"}
NEIGHBOURS = {"avg_nn_distance", "std_nn_distance", "density_score"}


def even(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((1200, 6))


def clustered(rng: np.random.Generator) -> np.ndarray:
    """Many near pairs: neighbours of one row are alike, and the distances of pairs have two peaks."""
    centres = np.repeat(rng.standard_normal((30, 6)), 40, axis=0)
    return centres + 0.3 * rng.standard_normal(centres.shape)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("rows", [even, clustered])
def test_estimates_miss_the_truth_by_their_standard_errors(rows, metric, full):
    """Misses in units of the stated error have a root mean square of 1, and 95 % of them are below 1.96."""
    matrix = rows(np.random.default_rng(0))
    exact = geometry(matrix, metric=metric, k=3)
    misses: dict[str, list[float]] = {}
    for seed in range(150 if full else 60):
        found = geometry(matrix, metric=metric, k=3, exact_work=1.0, sample=250, pair_sample=1000, seed=seed, threads=1)
        for name, estimate in found.estimates.items():
            if estimate.standard_error is not None:
                miss = (getattr(found, name) - getattr(exact, name)) / estimate.standard_error
                misses.setdefault(name, []).append(miss)
    assert set(misses) == (NEIGHBOURS if metric == "cosine" else NEIGHBOURS | PAIRWISE)
    for name, found in misses.items():
        assert 0.8 < np.sqrt(np.mean(np.square(found))) < 1.25, name
        assert 0.89 <= np.mean(np.abs(found) < 1.96) <= (0.99 if full else 1), name


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_a_sample_of_every_row_has_no_error(metric):
    matrix = even(np.random.default_rng(1))[:60]
    exact, found = (geometry(matrix, metric=metric, exact_work=work, sample=60) for work in (1e12, 1.0))
    for name in NEIGHBOURS:
        assert getattr(found, name) == pytest.approx(getattr(exact, name), rel=1e-12)
        assert found.estimates[name].standard_error == 0.0


def test_unknown_standard_error_is_none():
    matrix = even(np.random.default_rng(1))[:60]
    found = geometry(matrix, metric="euclidean", exact_work=1.0, sample=1, pair_sample=3)
    for name in NEIGHBOURS | PAIRWISE:
        assert "standard_error" not in found.to_dict()["estimates"][name]
    assert "standard error" not in str(found)
    found = geometry(matrix, metric="euclidean", exact_work=1.0, sample=2, pair_sample=4)
    assert all(found.estimates[name].standard_error > 0 for name in NEIGHBOURS | PAIRWISE)


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [6, 12])
def test_few_pairs_have_no_standard_error(pairs, full):
    """Three figures are fitted to them, so the residuals of far-off pairs say too little unless they are scaled."""
    matrix = np.random.default_rng(0).standard_normal((400, 3))
    exact = geometry(matrix, metric="euclidean").avg_pairwise_distance
    misses = []
    for seed in range(150 if full else 60):
        found = geometry(matrix, metric="euclidean", exact_work=1.0, sample=2, pair_sample=pairs, seed=seed, threads=1)
        error = found.estimates["avg_pairwise_distance"].standard_error
        misses.append((found.avg_pairwise_distance - exact) / error)
    assert np.sqrt(np.mean(np.square(misses))) < 2.0
    assert np.mean(np.abs(misses) < 1.96) > 0.8


def test_no_pair_of_a_row_with_itself_is_drawn():
    """Of three rows the control variates fit all three distances, so that any sample has their mean to the end."""
    matrix = [[0.0, 0.0], [3.0, 0.0], [0.0, 8.0]]
    distances = np.array([3.0, 8.0, np.sqrt(73.0)])
    for seed in range(20):
        found = geometry(matrix, metric="euclidean", exact_work=1.0, pair_sample=40, seed=seed)
        assert found.avg_pairwise_distance == pytest.approx(distances.mean(), rel=1e-9)
        assert found.std_pairwise_distance == pytest.approx(distances.std(), rel=1e-6)
        assert found.estimates["avg_pairwise_distance"].standard_error < 1e-6


def test_every_pair_may_be_drawn():
    """A far row is in few pairs: its distances would be missed if partners were drawn from near by."""
    matrix = np.arange(12.0)[:, None] ** 3
    truth = np.abs(matrix - matrix.T)[np.triu_indices(12, 1)].mean()
    found = [
        geometry(matrix, metric="euclidean", exact_work=1.0, pair_sample=2000, seed=seed).avg_pairwise_distance
        for seed in range(40)
    ]
    assert np.mean(found) == pytest.approx(truth, rel=2e-3)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("seed", range(6))
def test_extremes_lie_within_their_bounds(metric, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((300, 4)) * rng.lognormal(0, 1, (300, 1)) + seed
    matrix[rng.integers(300)] = 0.0
    exact = geometry(matrix, metric=metric, k=2)
    found = geometry(matrix, metric=metric, k=2, exact_work=1.0, sample=20, seed=seed)
    least, most = found.estimates["min_pairwise_distance"], found.estimates["max_pairwise_distance"]
    assert least.low == 0.0 <= exact.min_pairwise_distance <= least.high == found.min_pairwise_distance
    assert found.max_pairwise_distance == most.low <= exact.max_pairwise_distance * (1 + 1e-12)
    assert exact.max_pairwise_distance <= most.high
    assert most.high <= (2.0 if metric == "cosine" else 2 * exact.max_spread)


def test_a_duplicate_makes_the_least_distance_exact():
    matrix = even(np.random.default_rng(2))[:90]
    matrix[70] = matrix[3]
    found = geometry(matrix, exact_work=1.0, sample=5)
    assert (found.n_duplicates, found.min_pairwise_distance) == (1, 0.0)
    assert "min_pairwise_distance" not in found.estimates


def test_samples_follow_the_seed():
    matrix = even(np.random.default_rng(3))[:200]
    one, same, other = (
        geometry(matrix, metric="euclidean", exact_work=1.0, sample=20, pair_sample=50, seed=seed) for seed in (5, 5, 6)
    )
    assert one == same
    assert one.avg_nn_distance != other.avg_nn_distance
    assert one.avg_pairwise_distance != other.avg_pairwise_distance


def test_the_budget_counts_every_pair_once():
    """N²·D/2 multiplications: 100 rows of 4 numbers take 20,000."""
    matrix = even(np.random.default_rng(4))[:100, :4]
    assert geometry(matrix, exact_work=20_000).estimates == {}
    assert "avg_nn_distance" in geometry(matrix, exact_work=19_999).estimates


@pytest.mark.parametrize("work", [-1.0, math.nan, math.inf, "many", True])
def test_exact_work_out_of_its_range_raises(work):
    matrix = np.eye(4, dtype=np.float32)
    for call in (geometry, nearest):
        with pytest.raises(OptionError, match=r"exact_work=.*: expected a number from 0 to"):
            call(matrix, exact_work=work)
