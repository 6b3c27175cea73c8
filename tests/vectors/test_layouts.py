"""PaCMAP and UMAP by their packages: clusters stay together, the rest is placed, and threads show in no bit."""

import numpy as np
import pytest

import fastmetrics as fm

pytestmark = pytest.mark.slow


def clusters(rows, dim=16, seed=0):
    """Rows around four centres, and the centre of each."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, rows)
    centres = 3 * rng.standard_normal((4, dim))
    return (centres[labels] + 0.3 * rng.standard_normal((rows, dim))).astype(np.float32), labels


@pytest.mark.parametrize("method", ["pacmap", "umap"])
def test_layouts_keep_clusters_together(method):
    rows, labels = clusters(160)
    rows[7], rows[9, 0] = 0.0, np.nan
    found = fm.project(rows, method=method, sample=120)
    assert (found.rows, found.sampled, found.placed, found.left_out) == (160, 120, 38, 2)
    assert np.isnan(found.points[[7, 9]]).all()
    assert found.in_sample.sum() == 120
    assert found.explained is None
    assert found.trustworthiness > 0.85
    good = np.flatnonzero(np.isfinite(found.points[:, 0]))
    gaps = np.linalg.norm(found.points[good, None] - found.points[None, good], axis=2)
    np.fill_diagonal(gaps, np.inf)
    assert (labels[good][gaps.argmin(axis=1)] == labels[good]).mean() > 0.97
    again = fm.project(rows, method=method, sample=120, threads=1)
    assert again.points.tobytes() == found.points.tobytes()
    assert fm.project(rows[:12], method=method, dims=3).points.shape == (12, 3)
