"""Principal components against NumPy's singular value decomposition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fastmetrics.vectors.projection import pca


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
