"""Equally far rows come by row number, however many there are, in whatever tiles and threads they are compared."""

from __future__ import annotations

import numpy as np
import pytest

from fastmetrics.base.limits import SIZES
from fastmetrics.vectors.neighbors import Index, nearest


def by_distance_and_number(square: np.ndarray, k: int, own: bool = True) -> np.ndarray:
    """The k nearest of each row of a matrix of exact distances, ties by number."""
    square = square.astype(float)
    if own:
        np.fill_diagonal(square, np.inf)
    return np.argsort(square, axis=1, kind="stable")[:, :k]


def searches(corpus: np.ndarray, k: int, metric: str) -> list[np.ndarray]:
    own = np.arange(len(corpus))
    found = [nearest(corpus, k=k, metric=metric, threads=threads) for threads in (1, 2, 3)]
    found.append(Index.build(corpus, metric=metric).search(corpus, k=k, exclude=own))
    assert {one.method for one in found} == {"exact"}
    return [one.ids for one in found]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_between_lattice_points(monkeypatch, dtype):
    """Whole numbers, whose squared distances float64 holds exactly: most distances are shared by many rows."""
    corpus = np.random.default_rng(0).integers(-2, 3, (130, 3))
    square = ((corpus[:, None] - corpus[None]) ** 2).sum(axis=2)
    for tile in (13, 1024):
        monkeypatch.setattr(SIZES, "vector_tile_rows", tile)
        for k in (2, 30):
            for ids in searches(corpus.astype(dtype), k, "euclidean"):
                assert np.array_equal(ids, by_distance_and_number(square, k))


def test_cosine_ties_between_axis_vectors():
    """Unit vectors, of lengths that are powers of two: the cosine distances are 0, 1 and 2."""
    rng = np.random.default_rng(1)
    axes, signs = rng.integers(0, 3, 300), rng.choice([-1, 1], 300)
    corpus = np.zeros((300, 3), np.float32)
    corpus[np.arange(300), axes] = signs * 2.0 ** rng.integers(-3, 4, 300)
    square = 1 - (axes[:, None] == axes) * signs[:, None] * signs
    for k in (3, 40, 120):
        for ids in searches(corpus, k, "cosine"):
            assert np.array_equal(ids, by_distance_and_number(square, k))


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("dim", [37, 101, 384])
def test_many_equal_rows_are_ordered_by_number(metric, dim):
    """More than float32 keeps as candidates; its products of equal rows differ with their place in a tile."""
    rng = np.random.default_rng(dim)
    corpus = rng.standard_normal((1400, dim)).astype(np.float32)
    places = np.sort(rng.permutation(1400)[:1250])
    corpus[places] = corpus[places[0]]
    corpus[places[5], :2] = corpus[places, :2] = (0.0, 1.0)
    corpus[places[7], 0] = -0.0
    for ids in searches(corpus, 3, metric):
        for place in places:
            assert ids[place].tolist() == [other for other in places[:4] if other != place][:3]


@pytest.mark.parametrize("rows", [30, 900])
def test_zero_vector_is_equally_far_from_all_rows(rows):
    corpus = np.random.default_rng(0).standard_normal((rows, 19)).astype(np.float32)
    corpus[[2, 17]] = 0.0
    for ids in searches(corpus, 4, "cosine"):
        assert ids[[2, 17]].tolist() == [[0, 1, 3, 4], [0, 1, 2, 3]]
    queries = np.vstack([corpus[:1], np.zeros((1, 19), np.float32)])
    for metric in ("cosine", "dot"):
        found = nearest(corpus, queries, k=4, metric=metric)
        assert found.ids[1].tolist() == [0, 1, 2, 3]
        assert found.ids[0].tolist() == nearest(corpus, corpus[:1], k=4, metric=metric).ids[0].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ivf", "hnsw", "pq"])
@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_zero_query_in_approximate_search_returns_first_rows(method, metric):
    corpus = np.random.default_rng(0).standard_normal((900, 20)).astype(np.float32)
    corpus[1] = 0.0
    found = nearest(corpus, np.zeros((3, 20), np.float32), k=4, metric=metric, method=method)
    assert found.ids.tolist() == [[0, 1, 2, 3]] * 3
    assert (found.distances == (1.0 if metric == "cosine" else 0.0)).all()


def test_rows_at_rounded_distance_zero_are_all_found():
    """Differences whose squares float64 cannot hold: at distance 0, though the rows are not equal."""
    corpus = np.full((40, 3), 1e-180) * np.arange(1, 41)[:, None]
    corpus = np.vstack([corpus, np.eye(3)])
    for ids in searches(corpus, 3, "euclidean"):
        assert sorted(map(len, map(set, ids.tolist()))) == [3] * 43
        assert (ids >= 0).all()
        assert (ids[:40] < 40).all()
