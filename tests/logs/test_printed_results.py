"""What the results of logs show, whole: as they print, and as JSON."""

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm

LOG = pa.table(
    {
        "id": ["1", "2", "3", "3", "5", "6"],
        "session_id": ["a", "a", "b", "b", None, "c"],
        "question": ["Where is my card?", "where is my card? ", "Где карта?", None, "Pay the rent by card?", "pay"],
        "answer": ["In the post.", "I don't know.", "", "In the post.", "Yes.", None],
        "rating": [5, 4, None, 5, 5, 1],
        "timestamp": [f"2024-01-0{day}T1{day}:00:00Z" for day in (1, 2, 2, 3, 7)] + [None],
        "success": [True, False, True, True, True, None],
        "retrieved_ids": [["x", "y"], ["x", "z"], ["x"], None, ["q", "x"], []],
        "relevant_ids": [["x"], ["y"], None, None, ["q"], None],
        "latency_ms": [100.0, 200.0, 50.0, None, 80.0, 10.0],
        "question_embedding": [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], None, [0.6, 0.8], [0.7, 0.7]],
    }
)
CHUNKS = {"chunk_id": ["x", "y", "z", "w"], "source": ["s", "s", "t", "t"]}


def vectors(texts):
    return np.array([[len(text), text.count("a"), 1.0] for text in texts])


RESULTS = {
    "chunks": lambda: fm.logs.chunk_utilization(LOG, chunks=CHUNKS, k=2, scores="latency_ms"),
    "chunks_of_a_column": lambda: fm.logs.chunk_utilization([["a", "b"], None]),
    "check": lambda: fm.logs.check_dataset(LOG, labels="rating", embedder=vectors, near=0.99),
    "domains": lambda: fm.logs.domain_analysis(LOG, indicators=["card"], embedder=vectors),
    "domains_of_questions": lambda: fm.logs.domain_analysis({"question": ["a card", "a card"]}),
    "topics": lambda: fm.logs.topic_coverage(LOG, topics=2, k=2, chunks=CHUNKS, scores="latency_ms"),
    "topics_of_vectors": lambda: fm.logs.topic_coverage(LOG.select(["question_embedding"]), topics=9),
    "cache": lambda: fm.logs.cache_hit_rate(LOG, tau=0.9),
    "cache_without_ratings": lambda: fm.logs.cache_hit_rate(LOG.select(["question_embedding", "answer"])),
    "context": lambda: fm.logs.context_preservation(LOG),
    "sessions": lambda: fm.logs.sessions(LOG, "rating"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_what_is_shown(name, golden):
    result = RESULTS[name]()
    golden(f"{name}.txt", str(result))
    golden(f"{name}.json", result.to_dict())
