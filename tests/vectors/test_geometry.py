"""The geometry of vectors, their projection, and the pictures of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pyarrow import feather, parquet
from scipy.spatial.distance import pdist, squareform
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness as trust_of_sklearn
from sklearn.metrics import pairwise_distances

import fastmetrics as fm
from fastmetrics.base.errors import InputError
from fastmetrics.vectors.geometry_values import geometry
from fastmetrics.vectors.projection import beside, layout, pca, trustworthiness
from fastmetrics.vectors.vector_arrays import Vectors
from tests.support.program import program

VALUES = (
    *["avg_nn_distance", "std_nn_distance", "density_score", "avg_spread", "max_spread", "spread_std"],
    *["effective_dimensionality", "avg_pairwise_distance", "std_pairwise_distance", "min_pairwise_distance"],
    *["max_pairwise_distance", "total_samples"],
)


def oracle(matrix, metric, k):
    """The twelve values, from all pairs in float64."""
    rows = np.asarray(matrix, np.float64)
    if metric == "cosine":
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        square = 0.5 * squareform(pdist(unit, "sqeuclidean"))
    else:
        square = squareform(pdist(rows))
    away = square.copy()
    np.fill_diagonal(away, np.inf)
    near = np.sort(away, axis=1)[:, :k]
    pairs = square[np.triu_indices(len(rows), 1)]
    spread = np.linalg.norm(rows - rows.mean(axis=0), axis=1)
    held = np.cumsum(np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False) ** 2)
    return {
        **{"total_samples": len(rows), "avg_nn_distance": near.mean(), "std_nn_distance": near.std()},
        **{"density_score": 1 / (near.mean() + 1e-12), "avg_spread": spread.mean(), "max_spread": spread.max()},
        **{"spread_std": spread.std(), "effective_dimensionality": int(np.searchsorted(held / held[-1], 0.95) + 1)},
        **{"avg_pairwise_distance": pairs.mean(), "std_pairwise_distance": pairs.std()},
        **{"min_pairwise_distance": pairs.min(), "max_pairwise_distance": pairs.max()},
    }


def cloud(rows, dim, *, seed=0, around=0.0, size=1.0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return (around * rng.standard_normal(dim) + size * rng.standard_normal((rows, dim))).astype(dtype)


def assert_equal(result, expected, rel=1e-6):
    found = result.to_dict()
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=rel, abs=1e-300)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_equals_all_pairs_in_float64(metric, dtype):
    rows = cloud(800, 24, dtype=dtype)
    result = geometry(rows, metric=metric, k=7)
    assert_equal(result, oracle(rows, metric, 7))
    assert result.estimates == {}
    assert set(VALUES) <= set(result.to_dict())


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("size", [1e-3, 1e-4])
def test_keeps_its_digits_where_rows_are_concentrated(metric, size):
    rows = cloud(900, 32, around=1.0, size=size, dtype=np.float64)
    assert_equal(geometry(rows, metric=metric, k=3), oracle(rows, metric, 3))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("size", [1e-3, 1e-5])
def test_keeps_its_digits_in_tight_clusters(metric, size):
    rows = np.repeat(cloud(12, 32, dtype=np.float64), 100, axis=0)
    rows += size * np.random.default_rng(1).standard_normal(rows.shape)
    found, expected = geometry(rows, metric=metric), oracle(rows, metric, 10)
    for name in ("avg_nn_distance", "std_nn_distance", "min_pairwise_distance", "density_score"):
        assert getattr(found, name) == pytest.approx(expected[name], rel=1e-6)


def test_spread_of_concentrated_rows_of_nearly_unit_length():
    rows = cloud(300, 16, around=1.0, size=1e-5, dtype=np.float64)
    rows *= np.random.default_rng(2).uniform(1 - 4e-7, 1 + 4e-7, (300, 1)) / np.linalg.norm(rows, axis=1)[:, None]
    found, expected = geometry(rows, k=1), oracle(rows, "cosine", 1)
    for name in ("avg_spread", "max_spread", "spread_std"):
        assert getattr(found, name) == pytest.approx(expected[name], rel=1e-6)


def test_rows_that_are_all_equal_have_no_dimension():
    for metric in ("cosine", "euclidean"):
        found = geometry(np.full((7, 3), [0.1, 0.2, 0.3]), metric=metric)
        assert (found.effective_dimensionality, found.avg_nn_distance, found.n_duplicates) == (0, 0.0, 6)


def test_a_zero_vector_is_not_its_own_farthest_row():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = (1.0 + 0.05 * rng.standard_normal((40, 3))).astype(np.float32)
        rows[rng.integers(40)] = 0.0
        assert geometry(rows, k=1, exact_work=1.0, sample=5).max_pairwise_distance == 1.0


@pytest.mark.parametrize("size", [1e-25, 1e25])
def test_neither_overflows_nor_underflows(size):
    rows = cloud(200, 8, dtype=np.float64)
    one, scaled = geometry(rows, metric="euclidean"), geometry(rows * size, metric="euclidean")
    assert scaled.avg_pairwise_distance == pytest.approx(one.avg_pairwise_distance * size)
    assert scaled.max_pairwise_distance == pytest.approx(one.max_pairwise_distance * size)
    assert scaled.effective_dimensionality == one.effective_dimensionality


def test_blocks_of_several_parts_are_those_of_one():
    whole = np.arange(24.0).reshape(12, 2)
    vectors = Vectors([whole[:3], whole[3:3], whole[3:4], whole[4:12]], 2)
    for start in range(13):
        for stop in range(start, 13):
            assert vectors.block(start, stop).tolist() == whole[start:stop].tolist()


@settings(max_examples=40, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(2, 9), st.integers(1, 5)), elements=st.integers(-3, 3).map(float)),
    st.sampled_from(["cosine", "euclidean"]),
    st.integers(1, 12),
)
def test_small_matrices_with_ties_duplicates_and_zeros(rows, metric, k):
    result = geometry(rows, metric=metric, k=k)
    square = pairwise_distances(rows, metric=metric)
    pairs = square[np.triu_indices(len(rows), 1)]
    np.fill_diagonal(square, np.inf)
    near = np.sort(square, axis=1)[:, : min(k, len(rows) - 1)]
    assert result.avg_nn_distance == pytest.approx(near.mean(), abs=1e-7)
    assert result.std_nn_distance == pytest.approx(near.std(), abs=1e-7)
    assert result.avg_pairwise_distance == pytest.approx(pairs.mean(), rel=1e-6, abs=1e-7)
    assert result.std_pairwise_distance == pytest.approx(pairs.std(), abs=1e-5)
    assert result.max_pairwise_distance == pytest.approx(pairs.max(), rel=1e-6, abs=1e-7)
    assert result.min_pairwise_distance == pytest.approx(pairs.min(), abs=1e-7)
    assert result.n_duplicates == len(rows) - len(np.unique(rows, axis=0))
    assert result.n_zero_norm == int((rows == 0).all(axis=1).sum())


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_minus_zero_is_zero_for_duplicates(metric, dtype):
    rows = np.array([[0.0, 1.0], [2.0, -0.0], [-0.0, 1.0], [2.0, 0.0], [2.0, -0.0], [1.0, 3.0]], dtype)
    for exact_work in (1e12, 1.0):
        found = geometry(rows, metric=metric, k=1, exact_work=exact_work)
        assert (found.n_duplicates, found.min_pairwise_distance) == (3, 0.0)


def test_rows_that_are_not_finite_are_left_out_and_counted():
    rows = cloud(60, 6)
    holed = rows.copy()
    holed[[3, 40], [0, 5]] = np.nan, np.inf
    result = geometry(holed, k=4)
    assert (result.n_nonfinite, result.total_samples) == (2, 58)
    assert_equal(result, oracle(np.delete(rows, [3, 40], axis=0), "cosine", 4))


def test_self_is_excluded_by_index_not_by_value():
    rows = np.repeat(cloud(30, 5), 3, axis=0)
    result = geometry(rows, metric="euclidean", k=3)
    assert result.n_duplicates == 60
    assert result.min_pairwise_distance == 0.0
    assert_equal(result, oracle(rows, "euclidean", 3))


def test_few_rows_and_one_column():
    one = geometry([[1.0, 2.0]])
    assert (one.total_samples, one.k, one.avg_spread, one.effective_dimensionality) == (1, 0, 0.0, 0)
    assert np.isnan(
        [one.avg_nn_distance, one.density_score, one.avg_pairwise_distance, one.min_pairwise_distance]
    ).all()
    line = np.arange(12.0)[:, None] ** 1.5
    assert_equal(geometry(line, metric="euclidean", k=3), oracle(line, "euclidean", 3))
    assert geometry(cloud(4, 3), k=10).k == 3


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("exact_work", [1e12, 1.0])
def test_the_same_bits_for_any_number_of_threads(metric, exact_work):
    rows = cloud(2600, 12)
    one, three = (
        geometry(rows, metric=metric, exact_work=exact_work, sample=100, threads=threads) for threads in (1, 3)
    )
    assert one == three


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_beyond_the_budget_values_are_estimates_with_errors(metric):
    rows = cloud(3000, 10, seed=4)
    exact, found = geometry(rows, metric=metric), geometry(rows, metric=metric, exact_work=1.0, sample=500)
    pairs = {"avg_pairwise_distance", "std_pairwise_distance"}
    neighbours = {"avg_nn_distance", "std_nn_distance", "density_score"}
    extremes = {"min_pairwise_distance", "max_pairwise_distance"}
    assert set(found.estimates) == neighbours | extremes | (pairs if metric == "euclidean" else set())
    for name in set(found.estimates) - extremes:
        error = found.estimates[name].standard_error
        assert 0 < error < 0.1 * getattr(exact, name)
        assert abs(getattr(found, name) - getattr(exact, name)) < 4 * error
    assert {estimate.sample for estimate in found.estimates.values()} <= {500, 200_000}
    assert found.min_pairwise_distance >= exact.min_pairwise_distance
    assert found.max_pairwise_distance <= exact.max_pairwise_distance
    for name in set(VALUES) - set(found.estimates):
        assert getattr(found, name) == getattr(exact, name)


def test_stated_errors_are_those_of_repeated_samples():
    """Misses in units of the stated error have a root mean square of 1."""
    rows = cloud(1200, 6)
    exact = geometry(rows, k=3)
    misses = {name: [] for name in ("avg_nn_distance", "std_nn_distance", "density_score")}
    for seed in range(40):
        found = geometry(rows, k=3, exact_work=1.0, sample=250, seed=seed, threads=1)
        for name, all_misses in misses.items():
            all_misses.append((getattr(found, name) - getattr(exact, name)) / found.estimates[name].standard_error)
    assert all(0.8 < np.sqrt(np.mean(np.square(found))) < 1.25 for found in misses.values())


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_a_sample_of_every_row_has_no_error(metric):
    rows = cloud(60, 6)
    exact, found, one = (
        geometry(rows, metric=metric, exact_work=w, sample=n) for w, n in ((1e12, 60), (1, 60), (1, 1))
    )
    for name in ("avg_nn_distance", "std_nn_distance", "density_score", "min_pairwise_distance"):
        assert getattr(found, name) == pytest.approx(getattr(exact, name), rel=1e-12)
    assert found.max_pairwise_distance == exact.max_pairwise_distance
    assert found.estimates["avg_nn_distance"].standard_error == 0.0
    assert one.estimates["avg_nn_distance"].standard_error is None
    assert "standard_error" not in one.to_dict()["estimates"]["avg_nn_distance"]


def test_samples_follow_the_seed_and_the_budget_counts_every_pair_once():
    """N²·D/2 multiplications: 100 rows of 4 numbers take 20,000."""
    rows = cloud(100, 4)
    assert geometry(rows, exact_work=20_000).estimates == {}
    one, same, other = (geometry(rows, exact_work=19_999, sample=20, seed=seed) for seed in (5, 5, 6))
    assert one == same
    assert one.avg_nn_distance != other.avg_nn_distance
    rows[70] = rows[3]
    found = geometry(rows, exact_work=1.0, sample=5)
    assert (found.n_duplicates, found.min_pairwise_distance) == (1, 0.0)
    assert "min_pairwise_distance" not in found.estimates


def test_the_input_is_neither_changed_nor_frozen():
    rows = cloud(50, 4)
    before = rows.copy()
    geometry(rows)
    assert np.array_equal(rows, before)
    assert rows.flags.writeable


def test_every_container_gives_the_same_numbers(tmp_path: Path):
    rows = cloud(300, 6)
    table = pa.table({"id": range(300), "vector": pa.FixedSizeListArray.from_arrays(rows.ravel(), 6)})
    ragged = pa.table({"vector": pa.array(rows.tolist(), pa.list_(pa.float32()))})
    np.save(tmp_path / "v.npy", rows)
    parquet.write_table(table, tmp_path / "v.parquet", row_group_size=70)
    feather.write_feather(table, tmp_path / "v.feather", chunksize=90)
    parquet.write_table(ragged, tmp_path / "ragged.parquet")
    expected = geometry(rows)
    chunks = pa.chunked_array([ragged["vector"].chunk(0)[:100], ragged["vector"].chunk(0)[100:]])
    for source in (
        *(tmp_path / name for name in ("v.npy", "v.parquet", "v.feather", "ragged.parquet")),
        table,
        table["vector"].chunk(0),
        chunks,
        table.to_pandas(),
        rows.tolist(),
        np.asfortranarray(rows),
    ):
        found = geometry(source)
        for name in VALUES:
            assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9)


def test_a_null_or_broken_row_of_a_column():
    nulls = pa.array([[1.0, 2.0], None, [2.0, 1.0], [None, 1.0]], pa.list_(pa.float32()))
    assert geometry(nulls).n_nonfinite == 2
    fixed = pa.array([[1.0, 2.0], None, [2.0, 1.0]], pa.list_(pa.float32(), 2))
    assert Vectors.of(fixed[1:]).block(0, 2)[1].tolist() == [2.0, 1.0]
    assert geometry(fixed).n_nonfinite == 1


def test_zero_vectors_are_noted_where_directions_are_compared():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    said = "zero vector among the rows, whose cosine is undefined: distance 1 to every row stands for it"
    assert f"1 {said}" in geometry(rows).remarks()
    assert not any(
        "zero vector" in note for note in geometry(rows, metric="euclidean").remarks() + geometry(rows[:2]).remarks()
    )


def rows(n, dim, kind=np.float64, seed=0):
    random = np.random.default_rng(seed)
    return (random.normal(size=(n, dim)) * np.linspace(3, 0.5, dim) + random.normal(size=dim) * 10).astype(kind)


def by_svd(vectors, dims):
    centred = vectors.astype(np.float64) - vectors.astype(np.float64).mean(axis=0)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    directions = directions[:dims]
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[np.arange(dims), largest])[:, None]
    return centred @ directions.T, (sizes**2 / (sizes**2).sum())[:dims]


@pytest.mark.parametrize(("kind", "exact"), [(np.float64, 1e-9), (np.float32, 1e-4)])
@pytest.mark.parametrize(("n", "dim", "dims"), [(9_000, 8, 2), (50, 60, 3), (5, 3, 3)])
def test_points_and_shares_equal_the_svd(n, dim, dims, kind, exact):
    vectors = rows(n, dim, kind)
    points, shares = by_svd(vectors, dims)
    found = pca(vectors, dims)
    np.testing.assert_allclose(found.points, points, atol=exact)
    np.testing.assert_allclose(found.explained, shares, atol=exact)
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(dims), atol=1e-12)


def test_threads_and_non_finite_rows_do_not_change_other_points():
    vectors = rows(9_000, 8)
    holed = np.insert(vectors, 4_500, np.nan, axis=0)
    one, other = pca(vectors, threads=1), pca(vectors, threads=2)
    assert one.points.tobytes() == other.points.tobytes()
    found = pca(holed).points
    assert np.isnan(found[4_500]).all()
    np.testing.assert_allclose(np.delete(found, 4_500, axis=0), one.points, atol=1e-9)


def test_constant_columns_project_to_zero():
    found = pca(np.ones((4, 3)))
    assert found.points.tolist() == [[0.0, 0.0]] * 4
    assert found.explained.tolist() == [0.0, 0.0]
    line = pca(np.outer(np.arange(4.0), [3.0, -4.0]), 3)
    np.testing.assert_allclose(line.points, np.outer(np.arange(4.0) - 1.5, [-5.0, 0.0, 0.0]), atol=1e-12)
    assert line.points[:, 1:].tolist() == [[0.0, 0.0]] * 4
    assert pca([[1.0, 2.0]]).points.tolist() == [[0.0, 0.0]]


def test_arrow_columns_are_accepted():
    vectors = rows(20, 3)
    table = pa.table({"id": range(20), "v": vectors.tolist()})
    np.testing.assert_allclose(pca(table).points, pca(vectors).points, atol=1e-12)


def clusters(rows, dim=16, seed=0):
    """Rows around four centres, and the centre of each."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, rows)
    centres = 3 * rng.standard_normal((4, dim))
    return (centres[labels] + 0.3 * rng.standard_normal((rows, dim))).astype(np.float32), labels


def units(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("dims", [2, 3])
def test_pca_equals_scikit_learn(dims):
    rows, _ = clusters(300)
    found, theirs = fm.vectors.project(rows, dims=dims), PCA(dims, svd_solver="full").fit(rows.astype(np.float64))
    assert np.abs(found.points) == pytest.approx(np.abs(theirs.transform(rows.astype(np.float64))), abs=1e-4)
    assert found.explained == pytest.approx(theirs.explained_variance_ratio_, rel=1e-6)
    assert (found.rows, found.sampled, found.placed, found.left_out) == (300, 300, 0, 0)
    assert found.to_arrow().column_names == ["id", *"xyz"[:dims], "sampled"]


@pytest.mark.parametrize(("sample", "sampled"), [(5_000, 39), (10, 10)])
def test_sampled_placed_and_left_out_rows_are_all_rows(sample, sampled):
    rows, _ = clusters(41)
    rows[3], rows[4, 0] = 0.0, np.nan
    found = fm.vectors.project(rows, sample=sample)
    assert (found.rows, found.sampled, found.placed, found.left_out) == (41, sampled, 40 - sampled, 1)
    assert np.isfinite(found.points).all(axis=1).sum() == 40
    assert "1 row without a place: not finite" in str(found)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [1, 5, 15])
def test_trustworthiness_equals_scikit_learn(seed, k):
    rows, rng = units(clusters(200, seed=seed)[0].astype(np.float64)), np.random.default_rng(seed)
    for points in (rows[:, :2], rng.random((200, 2)), rows[:, :3]):
        expected = trust_of_sklearn(rows, points, n_neighbors=k, metric="cosine")
        assert trustworthiness(rows, points, k, threads=1) == pytest.approx(expected, abs=1e-12)
        assert trustworthiness(rows, points, k, threads=3) == trustworthiness(rows, points, k, threads=1)


def test_trustworthiness_of_few_rows_is_undefined():
    assert np.isnan(fm.vectors.project(clusters(30)[0]).trustworthiness)
    assert fm.vectors.project(clusters(31)[0]).trustworthiness > 0


def test_projected_rows_lie_near_their_neighbours():
    sample = units(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.1]], np.float32))
    places = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    rows = units(np.array([[1.0, 0.0], [1.0, 1.0]], np.float32))
    found = beside(sample, places, rows, 1)
    assert found[0] == pytest.approx([0.0, 0.0], abs=1e-6)
    distances = 1 - rows[1].astype(np.float64) @ sample.T.astype(np.float64)
    assert found[1] == pytest.approx((1 / distances) @ places / (1 / distances).sum(), rel=1e-5)
    assert beside(sample, places, rows[:0], 1).shape == (0, 2)


def test_invalid_projection_input_raises():
    with pytest.raises(InputError):
        layout("pacmap", np.eye(3, dtype=np.float32), 2, 15, 42, 1)


def test_project_command(tmp_path):
    rows, _ = clusters(40)
    table = pa.table({"id": [f"q{n}" for n in range(40)], "v": list(rows), "w": list(rows[:, :3])})
    pq.write_table(table, tmp_path / "in.parquet")
    out = tmp_path / "points.parquet"
    done = program("vectors", "project", tmp_path / "in.parquet", "--column", "v", "-o", out, "--dims", "3", "--json")
    assert (done.code, done.err) == (0, "")
    told, made = json.loads(done.out), pq.read_table(out)
    assert (told["method"], told["rows"], told["sampled"], len(told["explained"])) == ("pca", 40, 40, 3)
    assert made.column_names == ["id", "x", "y", "z", "sampled"]
    assert made["id"].to_pylist() == table["id"].to_pylist()
    expected = fm.vectors.project(rows, dims=3)
    assert made["x"].to_pylist() == expected.points[:, 0].tolist()
    assert told["trustworthiness"] == expected.trustworthiness
    shorter = [tmp_path / "in.parquet", "--column", "v", "-o", out, "--overwrite", "--limit", "30", "--3d"]
    assert program("vectors", "project", *shorter).code == 0
    assert pq.read_table(out).drop(["sampled"]).equals(made.drop(["sampled"]))
    assert sum(pq.read_table(out)["sampled"].to_pylist()) == 30
    again = program("vectors", "project", tmp_path / "in.parquet", "--column", "v", "-o", out)
    assert (again.code, "exists; choose --overwrite to replace it" in again.err) == (4, True)
    missing = program("vectors", "project", tmp_path / "in.parquet", "-o", tmp_path / "o.csv")
    assert (missing.code, "expected one column of lists of numbers, found 'v', 'w'" in missing.err) == (3, True)
    np.save(tmp_path / "v.npy", rows)
    done = program("vectors", "project", tmp_path / "v.npy", "-o", tmp_path / "o.csv")
    assert (done.code, "trustworthiness" in done.out) == (0, True)
