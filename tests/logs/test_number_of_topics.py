"""The number of topics of a log's questions: that of the greatest mean silhouette."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
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


@pytest.mark.parametrize(
    ("sizes", "spread", "times", "topics", "told"),
    [
        ((1,) * 5, 0, 12, [12] * 5, "fewer than ten distinct questions"),
        ((2, 2, 5), 0.05, 5, [5] * 9, "each is a topic"),
        ((5, 5), 0.05, 5, [25, 25], "of 2 to 5 topics, their number"),
        ((2, 3, 4), 0.05, 4, [16, 12, 8], "of 2 to 4 topics, their number"),
        ((4,) * 5, 0.15, 3, [12] * 5, "of 2 to 10 topics, their number"),
        ((4,) * 5, 0.1, 12, [48] * 5, "of 2 to 10 topics, their number"),
        ((1, 1), 0, 4, [8], "too few, or too much alike"),
        ((1, 1), 0, 5, [5, 5], "(--topics) sets their"),
        ((), 0, 5, [], "too few"),
    ],
)
def test_questions_asked_again_do_not_change_the_topics(sizes, spread, times, topics, told):
    vectors = np.tile(blobs(*sizes, spread=spread), (times, 1))
    found = fm.logs.topic_coverage({"question_embedding": pa.array(vectors.tolist(), pa.list_(pa.float32()))})
    assert [one.questions for one in found.topics] == topics
    assert told in str(found)
    assert "sets" not in str(fm.logs.topic_coverage({"question_embedding": [[1.0, 0.0]] * 9}, topics=2))


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([f"k{row}" for row in range(6)], name="nr"),
        pd.Index(range(10, 16)),
        pd.RangeIndex(6),
        pd.RangeIndex(6, name="id"),
        pd.Index([4, 4, 5, 5, 6, 6]),
        pd.MultiIndex.from_product([["a", "b"], [1, 2, 3]], names=["bot", None]),
    ],
)
def test_topics_and_hits_have_the_index_of_their_frame(index):
    vectors = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], None, [0.9, 0.1], [0.1, 1.0]]
    frame = pd.DataFrame({"question_embedding": vectors, "answer": list("abcdef")}, index=index)
    topic = fm.logs.topic_coverage(frame, topics=2).to_rows().to_pandas()["topic"]
    assert frame.assign(topic=topic)["topic"].fillna(-1).tolist() == [0, 1, 0, -1, 0, 1]
    hit = fm.logs.cache_hit_rate(frame).table.to_pandas()["cache_hit"]
    assert frame.assign(hit=hit)["hit"].fillna(-1).tolist() == [0, 0, 1, -1, 1, 1]
