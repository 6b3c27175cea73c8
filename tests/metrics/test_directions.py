"""Which way is better: what a declaration says, and that a good answer does not score worse than a bad one by it."""

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.scoring.metric_functions import callable_of

GOOD = (
    "Solar panels turn sunlight into power. They were invented in 1954 by engineers. However, they cost 900 dollars, "
    "so please compare offers. Thank you for asking about remarkable photovoltaic technology [1].\n\n"
    "Overall, solar panels turn sunlight into power and therefore save money [1]."
)
BAD = (
    "It is they. I don't know. [1] Bananas opened in 2031 at 7 pm. Xylophones released 77 cats. Dogs had 12 dogs. "
) + "banana " * 100
SHARED = {
    "question": ["Explain solar panels. Describe how solar panels turn sunlight into power, and what do they cost?"]
    * 2,
    "reference": [GOOD] * 2,
    "contexts": [[GOOD]] * 2,
    "context_ids": [["a"]] * 2,
    "answerable": [True] * 2,
    "relevant_ids": [["a", "b"]] * 2,
    "relevance": [[1, 2]] * 2,
    "expected_tool_calls": [["search"]] * 2,
    "reference_embedding": [[1.0, 0.0]] * 2,
}
ROWS = SHARED | {
    "answer": [GOOD, BAD],
    "retrieved_ids": [["b", "a"], ["x", "x", "y"]],
    "answer_embedding": [[2.0, 0.0], [-1.0, 5.0]],
    "latency_ms": [5.0, 900.0],
    "prompt_tokens": [10, 20],
    "completion_tokens": [10, 20],
    "total_tokens": [20, 40],
    "cost": [0.1, 0.2],
    "judge_answer_faithfulness": [1.0, 0.0],
    "judge_answer_relevance": [1.0, 0.0],
    "judge_correctness": [5.0, 1.0],
    "judge_e2e": [1.0, 0.0],
    "tool_calls": [["search"], ["search", "read"]],
    "success": [True, False],
    "messages": [[{"role": "user", "content": "Why?"}]] * 2,
}
TELLING = [name for name, metric in REGISTRY.items() if metric.better is not None]
SILENT = {
    *("abstained", "answer_rate", "confidence", "answer_length", "answer_words"),
    *("anchor_count", "embedding_geometry", "rater_agreement", "tool_call_count", "turns"),
}
UNANSWERABLE = {"answer": ["I don't know.", GOOD], "answerable": [False] * 2, "reference": [None] * 2}
IN_JSON = {"answer": ['{"a": 1}', "a: 1"], "reference": ['{"a": 1}'] * 2}
OTHERS = {
    **dict.fromkeys(["correct_abstention", "answered_unanswerable", "abstention_f1"], UNANSWERABLE),
    **dict.fromkeys(["json_valid", "json_match", "json_f1"], IN_JSON),
    "tool_call_recall": {"tool_calls": [["search"], ["read"]]},
    "choice_match": {"choices": [["It is solar.", GOOD]] * 2},
    "answer_in_context": {"contexts": [[GOOD], [BAD]]},
    "aurc": {"confidence": [0.9] * 2},
    "wrong_on_answerable": {"answer": [GOOD, "Bananas"]},
    "novel_name_rate": {"answer": ["They were made by Ada.", "They were made by Bob."], "contexts": [["Ada"]] * 2},
}
REPEATED = {
    "question": (["q", "q"], ["q", "q"]),
    "retrieved_ids": ([["a"], ["a"]], [["a"], ["b"]]),
    "answer": (["x", "x"], ["x", "y"]),
    "answer_embedding": ([[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]),
}
"""Repeats that are alike and that are not."""
"""The rows of metrics that say nothing of those above."""


def test_neutral_metrics_have_no_direction():
    assert set(REGISTRY) - set(TELLING) == SILENT


@pytest.mark.parametrize("name", TELLING)
def test_the_good_answer_scores_better(name):
    metric, rows = REGISTRY[name], ROWS | OTHERS.get(name, {})
    if (metric.keeps or "").startswith("repeats."):
        good, bad = (
            callable_of(name)(*(REPEATED[column][place] for column in metric.required)).score for place in (0, 1)
        )
    elif metric.level == "corpus":
        good, bad = (callable_of(name)(*([rows[column][place]] for column in metric.needs)).score for place in (0, 1))
    else:
        good, bad = callable_of(name)(**{column: rows[column] for column in metric.needs if column in rows})
    assert metric.better in ("higher", "lower")
    assert good > bad if metric.better == "higher" else good < bad, (good, bad)


def test_the_best_of_several_references_is_the_nearest_by_a_distance():
    rows = {"answer": ["a", "a"], "reference": [["ccc", "bb"], ["bb", "ccc"]]}

    def sizes(texts):
        return np.array([[float(len(text))] for text in texts])

    scores = fm.score(rows, ["euclidean_distance", "dot_similarity"], embedder=sizes)
    assert scores["euclidean_distance"].to_pylist() == [1.0, 1.0]
    assert scores["dot_similarity"].to_pylist() == [3.0, 3.0]
