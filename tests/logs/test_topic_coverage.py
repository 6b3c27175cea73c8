"""Topics of a log: known clusters found, every figure by plain Python, the same for any threads, bad logs named."""

import json
import math
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.logs.topics import clusters
from fastmetrics.text.lexicons import lexicon
from tests.reference import usage as reference
from tests.support.program import jsonl, program

CORNERS = np.eye(4)
TEXTS = ["lost card", "pay the rent today", "где моя карта", "card pin", "rent-free flat", ""]
ROWS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(TEXTS),
        st.none() | st.sampled_from(["", "Yes.", "I don't know"]),
        st.none() | st.lists(st.sampled_from("abcdef"), max_size=4),
        st.none() | st.integers(0, 4).map(lambda n: n / 4),
    ),
    min_size=1,
    max_size=14,
)
TYPES = pa.schema(
    {
        "corner": pa.int64(),
        "question": pa.string(),
        "answer": pa.string(),
        "retrieved_ids": pa.list_(pa.string()),
        "f1": pa.float64(),
    }
)


def mean(values):
    return sum(values) / len(values) if values else math.nan


@given(ROWS)
def test_figures_of_known_topics(rows):
    table = pa.Table.from_pylist([dict(zip(TYPES.names, row, strict=True)) for row in rows], TYPES)
    vectors = pa.array([CORNERS[row[0]].tolist() for row in rows], pa.list_(pa.float64()))
    log = table.append_column("question_embedding", vectors)
    chunks = {"id": list("abcde"), "source": ["x", "x", "y", None, "y"]}
    found = fm.logs.topic_coverage(log, topics=4, k=2, chunks=chunks, scores="f1")
    source = dict(zip(*chunks.values(), strict=True))
    number = found.to_rows()["topic"].to_pylist()
    groups = defaultdict(list)
    for at, row in zip(number, rows, strict=True):
        groups[at].append(row)
    assert len(groups) == len({row[0] for row in rows})  # each corner is a separate topic
    assert all(len({row[0] for row in own}) == 1 for own in groups.values())
    stop = {*lexicon("stop_en"), *lexicon("stop_ru")}
    words = reference.typical_words([row[1] for row in rows], number, stop)
    for topic in found.topics:
        own = groups[topic.topic]
        assert topic.questions == len(own)
        assert list(topic.words) == words[topic.topic]
        assert list(topic.samples) == list(dict.fromkeys(row[1] for row in own))[:5]
        ids = {one for row in own for one in (row[3] or [])[:2]}
        assert (topic.chunks, topic.sources) == (len(ids), len({source.get(one) for one in ids} - {None}))
        assert topic.abstain_rate == pytest.approx(
            mean([row[2] == "I don't know" for row in own if row[2] is not None]), nan_ok=True
        )
        assert topic.unanswered_rate == pytest.approx(mean([row[2] != "Yes." for row in own]))
        assert topic.gap == pytest.approx(sum(row[2] != "Yes." for row in own))
        assert topic.scores["f1"] == pytest.approx(mean([row[4] for row in own if row[4] is not None]), nan_ok=True)
    sizes = [topic.questions for topic in found.topics]
    assert sizes == sorted(sizes, reverse=True)
    gaps = [found.topics[at].gap for at in found.gaps]
    assert gaps == sorted((topic.gap for topic in found.topics if topic.gap), reverse=True)
    by_score = fm.logs.topic_coverage(log, topics=4, failure="f1")
    lost = sum(topic.gap for topic in by_score.topics)
    losses = [len(own) * mean([1 - row[4] for row in own if row[4] is not None]) for own in groups.values()]
    assert lost == pytest.approx(sum(one for one in losses if not math.isnan(one)))


def test_seed_and_threads_reproduce_topics():
    rng = np.random.default_rng(0)
    rows = (CORNERS[rng.integers(0, 4, 20_000)] + 0.4 * rng.standard_normal((20_000, 4))).astype(np.float32)
    log = {"question_embedding": pa.array(rows.tolist(), pa.list_(pa.float32()))}
    one, other = (fm.logs.topic_coverage(log, topics=7, threads=n).to_rows() for n in (1, 3))
    assert one.equals(other)
    assert fm.logs.topic_coverage(log, topics=7, seed=1).to_rows().num_rows == 20_000


def test_rows_outside_the_sample_get_the_nearest_topic():
    rng = np.random.default_rng(0)
    which = rng.integers(0, 4, 2000)
    units = (CORNERS[which] + 0.05 * rng.standard_normal((2000, 4))).astype(np.float32)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    found, centres = clusters(units, 4, 3, 2, sample=200)
    apart = np.linalg.norm(units[:, None] - centres[None], axis=2)
    assert (found == apart.argmin(axis=1)).all()
    assert len({(a, b) for a, b in zip(which.tolist(), found.tolist(), strict=True)}) == 4


def test_topics_of_few_or_equal_questions():
    same = {"question": ["a card"] * 9, "question_embedding": [[1.0, 0.0]] * 9}
    found = fm.logs.topic_coverage(same, topics=3)
    assert [topic.questions for topic in found.topics] == [9]
    assert list(found.topics[0].samples) == ["a card"]
    assert (found.failure, list(found.gaps)) == (None, [])
    assert "fewer than 3 distinct questions" in str(found)
    two = {"question": ["a", "b", None], "question_embedding": [[1.0, 0.0], [0.0, 1.0], None]}
    found = fm.logs.topic_coverage(two, topics=20)
    assert (len(found.topics), found.left_out) == (2, 1)
    assert found.to_rows()["topic"].to_pylist()[2] is None
    assert len(fm.logs.topic_coverage(two, topics=1).topics) == 1
    nothing = {"question": pa.array([], pa.string()), "question_embedding": pa.array([], pa.list_(pa.float32()))}
    assert list(fm.logs.topic_coverage(nothing).topics) == []


def test_clusters_without_questions_are_the_reason_for_fewer_topics():
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((21, 4))[np.arange(420) // 20]
    questions = {"question": [f"q{row // 20}" for row in range(420)], "question_embedding": vectors.tolist()}
    found = fm.logs.topic_coverage(questions, topics=20)
    assert found.empty == 20 - len(found.topics) > 0
    assert f"no question is nearest to {found.empty} of 20 clusters" in str(found)
    assert "distinct questions" not in str(found)


def test_the_example_of_a_gap_is_a_question_that_failed():
    log = {"question": ["card", "pin", "rent"], "answer": ["Yes.", "", "No."], "f1": [0.9, 0.2, 0.4]}
    log["question_embedding"] = [[1.0, 0.0], [0.9, 0.1], [1.0, 0.0]]
    found = fm.logs.topic_coverage(log, topics=1)
    assert (found.topics[0].samples, found.topics[0].failed) == (["card", "rent", "pin"], ["pin"])
    assert found.grids()[1].rows == (("0", "1", "pin"),)
    assert fm.logs.topic_coverage(log | {"f1": [0.9, 0.5, 0.4]}, topics=1, failure="f1").topics[0].failed == ["rent"]
    assert fm.logs.topic_coverage(log | {"answer": ["a", "b", "c"]}, topics=1).topics[0].failed == []


def test_topics_command(tmp_path):
    rows = [{"question": text, "question_embedding": [1.0, at], "answer": ""} for at, text in enumerate(TEXTS[:3])]
    log = jsonl(tmp_path / "log.jsonl", *map(json.dumps, rows))
    done = program("logs", "topics", log, "--topics", 2, "-o", tmp_path / "topics.json")
    assert (done.code, done.err) == (0, "")
    made = json.loads((tmp_path / "topics.json").read_text())
    assert sum(one["questions"] for one in made["topics"]) == 3
    assert made["failure"] == "unanswered"


@pytest.mark.parametrize(("n", "topics"), [(1, 1), (5, 2), (20, 3), (60, 5), (799, 20), (2000, 20)])
def test_the_number_of_topics_is_that_of_the_questions(n, topics):
    vectors = np.random.default_rng(n).standard_normal((n, 8))
    found = fm.logs.topic_coverage({"question_embedding": [*vectors.tolist(), None]})
    assert (found.k, found.questions, found.left_out) == (topics, n, 1)
