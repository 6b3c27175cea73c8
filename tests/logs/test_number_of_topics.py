"""The number of topics of a log's questions: that of the greatest mean silhouette."""

from __future__ import annotations

import numpy as np
import pytest

import fastmetrics as fm


def blobs(*sizes, seed=1, spread=0.05, width=24):
    """Unit vectors around as many directions, in so many rows each."""
    draw = np.random.default_rng(seed)
    centres = np.repeat(np.linalg.qr(draw.standard_normal((width, width)))[0][: len(sizes)], sizes, axis=0)
    rows = centres + spread * draw.standard_normal(centres.shape)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize(
    ("sizes", "k"),
    [
        ((30, 30), 2),
        ((10,) * 6, 6),
        ((40, 12, 8), 3),
        ((200,) * 20, 20),
        ((20, 20, *(2,) * 10), 2),  # twins are no topics
        ((4, 5), 1),
        ((1,), 1),
    ],
)
def test_the_number_of_topics_is_that_of_the_greatest_silhouette(sizes, k):
    vectors = blobs(*sizes)
    found = fm.logs.topic_coverage({"question_embedding": [*vectors.tolist(), None]})
    if len(sizes) < 10:
        assert (found.k, found.questions, found.left_out) == (k, len(vectors), 1)
        assert sorted(one.questions for one in found.topics) == (sorted(sizes) if k > 1 else [len(vectors)])
    else:
        assert found.k == k if min(sizes) > 2 else 2 <= found.k <= 5
    if k > 1 and min(sizes) > 2:
        metrics = pytest.importorskip("sklearn.metrics")
        labels = found.to_rows()["topic"].to_numpy()[:-1].astype(int)
        if len(vectors) <= 2_000:
            assert found.silhouette == pytest.approx(metrics.silhouette_score(vectors, labels), abs=1e-4)
        assert "the greatest mean silhouette" in str(found)
    assert found == fm.logs.topic_coverage({"question_embedding": [*vectors.tolist(), None]})
