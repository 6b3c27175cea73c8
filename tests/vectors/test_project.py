"""Vectors as points: PCA against scikit-learn's, the sample's neighbours, trustworthiness, and what is refused."""

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness as oracle

import fastmetrics as fm
from fastmetrics.base.errors import InputError, MissingExtraError
from fastmetrics.vectors.projection import beside, layout, trustworthiness
from tests.support.program import program


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
        expected = oracle(rows, points, n_neighbors=k, metric="cosine")
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


def test_method_without_its_package_raises(monkeypatch):
    for method, package, name in (("pacmap", "pacmap", "pacmap"), ("umap", "umap", "umap-learn")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtraError, match=rf"needs {name}, .*\[project\]"):
            fm.vectors.project(np.eye(20), method=method)


def test_invalid_projection_input_raises():
    with pytest.raises(InputError, match=r"pacmap needs 10 vectors or more, got 3; pca takes any number"):
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
