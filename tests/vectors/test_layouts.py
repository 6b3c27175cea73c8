"""PaCMAP and UMAP by their packages: clusters stay together, the rest is placed, and threads show in no bit."""

import subprocess
import sys

import numpy as np
import pytest

import fastmetrics as fm
from tests.support.program import ENVIRONMENT, ROOT
from tests.vectors.test_geometry import clusters


def check(method, count, sample, least=0.8):
    """Lay out rows of four clusters, one of them all 0 and one with NaN; ``least`` is the trustworthiness."""
    rows, labels = clusters(count)
    rows[7], rows[9, 0] = 0.0, np.nan
    found = fm.vectors.project(rows, method=method, sample=sample, threads=2)
    assert (found.rows, found.sampled, found.placed, found.left_out) == (count, sample, count - sample - 2, 2)
    assert np.isnan(found.points[[7, 9]]).all()
    assert found.in_sample.sum() == sample
    assert found.explained is None
    assert found.trustworthiness > least
    good = np.flatnonzero(np.isfinite(found.points[:, 0]))
    gaps = np.linalg.norm(found.points[good, None] - found.points[None, good], axis=2)
    np.fill_diagonal(gaps, np.inf)
    assert (labels[good][gaps.argmin(axis=1)] == labels[good]).mean() > 0.97
    again = fm.vectors.project(rows, method=method, sample=sample, threads=1)
    assert again.points.tobytes() == found.points.tobytes()
    assert fm.vectors.project(rows[:12], method=method, dims=3).points.shape == (12, 3)


METHODS = pytest.mark.parametrize("method", ["pacmap", "umap"])


@pytest.mark.full
@METHODS
def test_layouts_keep_clusters_together(method):
    """Few rows, in plain Python: the packages take minutes to compile, and a dozen rows have no stable order."""
    code = f"from tests.vectors.test_layouts import check; check({method!r}, 48, 36, 0.55)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**ENVIRONMENT, "NUMBA_DISABLE_JIT": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.full
@METHODS
def test_layouts_of_more_rows_keep_clusters_together(method):
    check(method, 160, 120)
