"""Neighbours against all distances in float64, and approximate searches against exact ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pyarrow import parquet
from sklearn.neighbors import NearestNeighbors

from fastmetrics.base.limits import SIZES
from fastmetrics.vectors.neighbors import DISTANCES, METHODS, Index, nearest

pytestmark = pytest.mark.slow


def clusters(rows, dim, *, seed=0, centres=20, size=0.4):
    rng = np.random.default_rng(seed)
    middle = rng.standard_normal((centres, dim))
    return (middle[rng.integers(0, centres, rows)] + size * rng.standard_normal((rows, dim))).astype(np.float32)


def all_distances(queries, corpus, metric):
    """Every distance, in float64, the plain way."""
    queries, corpus = queries.astype(np.float64), corpus.astype(np.float64)
    if metric == "dot":
        return -(queries @ corpus.T)
    if metric == "euclidean":
        return np.sqrt(((queries[:, None] - corpus[None]) ** 2).sum(axis=2))
    norms = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(corpus, axis=1)
    return np.where(norms > 0, 1.0 - (queries @ corpus.T) / np.where(norms > 0, norms, 1), 1.0)


def recall(found, truth):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), truth.tolist(), strict=True)])


@pytest.mark.parametrize("metric", DISTANCES)
@pytest.mark.parametrize("own", [True, False])
def test_exact_search_equals_all_distances(metric, own):
    corpus = clusters(700, 12)
    queries = corpus if own else clusters(90, 12, seed=1)
    found = nearest(corpus, None if own else queries, k=6, metric=metric)
    square = all_distances(queries, corpus, metric)
    if own:
        np.fill_diagonal(square, np.inf)
    assert np.array_equal(found.ids, np.argsort(square, axis=1, kind="stable")[:, :6])
    assert found.distances == pytest.approx(np.sort(square, axis=1)[:, :6], rel=1e-9, abs=1e-12)
    assert (found.method, found.recall, found.recall_sample) == ("exact", 1.0, len(queries))


def test_equals_scikit_learn():
    corpus = clusters(500, 9)
    expected = NearestNeighbors(n_neighbors=5, metric="cosine", algorithm="brute").fit(corpus.astype(float))
    distances, ids = expected.kneighbors(clusters(50, 9, seed=3).astype(float))
    found = nearest(corpus, clusters(50, 9, seed=3), k=5)
    assert np.array_equal(found.ids, ids)
    assert found.distances == pytest.approx(distances, abs=1e-12)
    assert found.scores == pytest.approx(1 - distances)


@settings(max_examples=40, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 8), st.just(3)), elements=st.integers(-2, 2).map(float)),
    arrays(np.float64, st.tuples(st.integers(1, 4), st.just(3)), elements=st.integers(-2, 2).map(float)),
    st.sampled_from(DISTANCES),
    st.integers(1, 10),
)
def test_small_matrices_with_ties_and_zeros(corpus, queries, metric, k):
    found = nearest(corpus, queries, k=k, metric=metric)
    kept = min(k, len(corpus))
    expected = np.sort(all_distances(queries, corpus, metric), axis=1)[:, :kept]
    assert found.distances[:, :kept] == pytest.approx(expected, abs=1e-9)
    assert (found.ids[:, kept:] == -1).all()
    assert np.isnan(found.distances[:, kept:]).all()
    assert all(len(set(row)) == kept for row in found.ids[:, :kept].tolist())


ROWS = 1000


@pytest.mark.parametrize("metric", DISTANCES)
@pytest.mark.parametrize("method", METHODS)
def test_methods_report_their_measured_recall(metric, method):
    corpus = clusters(ROWS, 12, centres=50)
    truth = np.argsort(all_distances(corpus, corpus, metric) + np.diag(np.full(ROWS, np.inf)), axis=1)[:, :10]
    found = nearest(corpus, k=10, metric=metric, method=method, recall_sample=ROWS)
    assert found.recall == pytest.approx(recall(found.ids, truth), abs=0.002)
    assert found.recall >= 0.98
    sampled = nearest(corpus, k=10, metric=metric, method=method, recall_sample=500)
    assert sampled.recall == pytest.approx(found.recall, abs=0.02)
    square = all_distances(corpus, corpus, metric)
    assert found.distances == pytest.approx(np.take_along_axis(square, found.ids, axis=1), abs=1e-6)


@pytest.mark.parametrize("method", ["ivf", "hnsw", "pq"])
def test_search_reaches_the_requested_recall(method):
    rows = 3000
    corpus = np.random.default_rng(0).standard_normal((rows, 48)).astype(np.float32)
    index = Index.build(corpus, method=method)
    truth = nearest(corpus, method="exact").ids
    rough, fine = (index.search(corpus, exclude=np.arange(rows), recall=share) for share in (0.5, 0.99))
    assert rough.recall <= fine.recall
    assert fine.recall >= 0.99
    for found in (rough, fine):
        assert found.recall == pytest.approx(recall(found.ids, truth), abs=0.02)
        assert found.recall_sample == 1000


@pytest.mark.parametrize("method", METHODS)
def test_threads_do_not_change_neighbours(method):
    corpus = clusters(1500, 8)
    one, two = (nearest(corpus, k=5, method=method, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.ids, two.ids)
    assert np.array_equal(one.distances, two.distances)
    assert one.recall == two.recall


@pytest.mark.parametrize("method", METHODS)
def test_exclude_removes_the_row_itself_among_duplicates(method):
    corpus = np.repeat(clusters(200, 8), 4, axis=0)
    found = nearest(corpus, k=3, metric="euclidean", method=method)
    assert (found.ids != np.arange(800)[:, None]).all()
    assert (found.ids // 4 == np.arange(800)[:, None] // 4).all()
    assert (found.distances == 0).all()


def test_small_distances_are_precise():
    rng = np.random.default_rng(0)
    corpus = (5.0 + 1e-4 * rng.standard_normal((300, 16))).astype(np.float32)
    square = all_distances(corpus, corpus, "euclidean") + np.diag(np.full(300, np.inf))
    for method in METHODS:
        found = nearest(corpus, k=4, metric="euclidean", method=method)
        picked = np.take_along_axis(square, found.ids, axis=1)
        assert found.distances == pytest.approx(picked, rel=1e-9)
    assert np.array_equal(nearest(corpus, k=4, metric="euclidean").ids, np.argsort(square, axis=1)[:, :4])


def tight(rows=1200, dim=32, size=1e-4, seed=0):
    """Clusters whose rows are much nearer to each other than float32 can tell around the centre of all."""
    rng = np.random.default_rng(seed)
    return np.repeat(rng.standard_normal((12, dim)), rows // 12, axis=0) + size * rng.standard_normal((rows, dim))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("size", [1e-3, 1e-5])
def test_exact_is_exact_in_tight_clusters(size, metric, dtype):
    corpus = tight(size=size).astype(dtype)
    rows = corpus.astype(np.float64)
    if metric == "cosine":
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    square = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    np.fill_diagonal(square, np.inf)
    expected = np.sort(square, axis=1)[:, :10]
    expected = 0.5 * expected if metric == "cosine" else np.sqrt(expected)
    for found in (
        nearest(corpus, metric=metric),
        nearest(corpus, metric=metric, method="ivf", threads=2),
        Index.build(corpus, metric=metric).search(corpus, exclude=np.arange(len(corpus))),
    ):
        assert (found.method, found.recall) == ("exact", 1.0)
        assert found.distances == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("scale", [1e30, 1e-30])
@pytest.mark.parametrize("metric", DISTANCES)
@pytest.mark.parametrize("method", METHODS)
def test_rows_of_extreme_magnitude_are_found(method, metric, scale):
    corpus, queries = clusters(900, 16), clusters(60, 16, seed=1)
    plain = nearest(corpus, queries, k=5, metric=metric, method="exact")
    found = nearest(corpus * np.float32(scale), queries * np.float32(scale), k=5, metric=metric, method=method)
    assert recall(found.ids, plain.ids) >= 0.97
    assert found.recall >= 0.97


@pytest.mark.parametrize("metric", ["euclidean", "dot"])
def test_outlier_row_does_not_hide_other_rows(metric):
    corpus, queries = clusters(900, 16), clusters(60, 16, seed=1)
    plain = nearest(corpus, queries, k=5, metric=metric)
    corpus = np.vstack([corpus, np.full((1, 16), 1e20, np.float32)])
    if metric == "euclidean":
        found, own = nearest(corpus, queries, k=5, metric=metric), nearest(corpus, k=5, metric=metric)
        assert np.array_equal(found.ids, plain.ids)
        assert np.array_equal(own.ids[:900], nearest(corpus[:900], k=5, metric=metric).ids)
        away = nearest(corpus[:900], queries * np.float32(1e25), k=5, metric=metric)
        assert (away.ids >= 0).all()
        return
    found = nearest(corpus, queries, k=6, metric=metric)
    assert all(set(one) <= set(other) for one, other in zip(plain.ids.tolist(), found.ids.tolist(), strict=True))


def test_ties_are_ordered_by_row_number():
    corpus = np.tile(np.eye(4, dtype=np.float32), (40, 1))
    corpus[0] = [1.0, 1.0, 1.0, 1.0]  # equally far from all other rows
    found = nearest(corpus, k=3, metric="euclidean")
    assert found.ids[0].tolist() == [1, 2, 3]
    assert nearest(corpus[1:], corpus[:1], k=3, metric="euclidean").ids.tolist() == [[0, 1, 2]]


def test_non_finite_corpus_rows_are_never_found():
    corpus = clusters(100, 5)
    corpus[17] = np.nan
    found = nearest(corpus, clusters(30, 5, seed=1), k=100)
    assert 17 not in found.ids
    assert (found.ids[:, 99] == -1).all()


def test_neighbours_of_real_embeddings_share_the_intent(data_folder):
    table = parquet.read_table(data_folder / "dev" / "banking77_embeddings.parquet")
    labels = np.array(table["label_intent"].to_pylist())
    found = nearest(table, k=1)
    assert np.mean(labels[found.ids[:, 0]] == labels) == pytest.approx(0.85, abs=0.02)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_search_visits_nearby_cells(metric):
    corpus = clusters(9000, 24, centres=300, size=0.2)
    corpus[5] = 0.0
    exact = nearest(corpus, metric=metric, method="exact")
    found = nearest(corpus, metric=metric, method="ivf", threads=1)
    assert (found.method, found.recall_sample) == ("ivf", 1000)
    assert found.recall >= 0.98
    assert found.recall == pytest.approx(recall(found.ids, exact.ids), abs=0.01)
    same = found.ids == exact.ids
    assert np.array_equal(found.distances[same], exact.distances[same])
    assert (found.distances >= exact.distances).all()
    again = nearest(corpus, metric=metric, method="ivf", threads=3)
    assert np.array_equal(found.ids, again.ids)
    assert np.array_equal(found.distances, again.distances)


def test_cells_larger_than_a_tile_or_smaller_than_k():
    same = np.repeat(clusters(3, 16, seed=1), 1500, axis=0)
    corpus = np.concatenate([same, clusters(9000, 16, centres=100, size=0.1)])
    exact = nearest(corpus, k=40, metric="euclidean", method="exact")
    found = nearest(corpus, k=40, metric="euclidean", method="ivf")
    assert found.method == "ivf"
    assert np.array_equal(found.distances[:4500], exact.distances[:4500])
    hits = found.distances <= exact.distances[:, -1:] + 1e-9
    assert found.recall == pytest.approx(hits.mean(), abs=0.01)
    assert (found.ids >= 0).all()


def test_rows_without_clusters_use_brute_force():
    corpus = np.random.default_rng(0).standard_normal((6000, 48)).astype(np.float32)
    found, exact = nearest(corpus, method="ivf"), nearest(corpus, method="exact")
    assert (found.method, found.recall) == ("exact", 1.0)
    assert np.array_equal(found.ids, exact.ids)


def test_default_method_depends_on_size_and_structure():
    loose = np.random.default_rng(0).standard_normal((3000, 16)).astype(np.float32)
    near = clusters(9000, 24, centres=300, size=0.2)
    assert nearest(loose).method == nearest(near).method == "exact"
    methods = {work: [nearest(rows, exact_work=work).method for rows in (loose, near)] for work in (1e8, 1e7)}
    assert methods == {1e8: ["exact", "ivf"], 1e7: ["pq", "ivf"]}
    assert nearest(loose, metric="dot", exact_work=1e7).method == "pq"
    assert nearest(loose, loose[:500], exact_work=1e7).method == "pq"
    assert nearest(loose, method="ivf", exact_work=1e7).method == "exact"


def test_tile_size_does_not_change_cell_results(monkeypatch):
    corpus = clusters(9000, 24, centres=300, size=0.2)
    whole = nearest(corpus, method="ivf")
    monkeypatch.setattr(SIZES, "vector_tile_rows", 48)
    tiled = nearest(corpus, method="ivf")
    assert tiled.method == "ivf"
    assert np.array_equal(tiled.ids, whole.ids)
    assert np.array_equal(tiled.distances, whole.distances)
