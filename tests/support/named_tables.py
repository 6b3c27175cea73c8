"""Tables that tests of several rooms share, by what they are: answers, two runs, a judged run, rankings, labels.

Small enough to be worked out by hand, and with what real tables have: missing and undefined scores, segments, sessions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

ANSWERS: dict[str, Any] = {
    "id": [f"q{n}" for n in range(10)],
    "question": [f"What is the capital of land {n}?" for n in range(10)],
    "answer": ["Paris", "in Rome", "I don't know.", "Bern", "Oslo", "Lima", None, "the city of Paris", "a b", "Kyiv"],
    "reference": ["Paris", "Rome", "Kyiv", "Basel", "Oslo", None, "Bonn", "Paris", "b a", "Kyiv"],
    "contexts": [["Paris is old."], ["Rome."], ["Kyiv."], ["Bern."], ["Oslo."], ["Lima."], [], ["Paris"], [""], ["Oh"]],
    "language": ["en", "ru"] * 5,
    "latency_ms": [100.0, 110.0, 50.0, 120.0, 90.0, 400.0, 80.0, 70.0, 60.0, 95.0],
    "total_tokens": [10, 12, 3, 11, 9, 50, 8, 7, 6, 10],
}
"""Ten answers with their truths: right, wrong, longer, refused, and without an answer or a reference."""


def run(shift: float, **changed: Any) -> pa.Table:
    """Sixty scored rows in two languages and twenty sessions, of which one score is missing and one undefined."""
    rng = np.random.default_rng(2)
    quality, chance = rng.beta(4, 2, 60), rng.normal(0, 0.05, 60)
    scores = np.clip(quality + (shift + chance if shift else 0.0), 0, 1)
    columns = {
        "id": [f"q{n}" for n in range(60)],
        "token_f1": [None if n == 7 else math.nan if n == 8 else float(score) for n, score in enumerate(scores)],
        "exact_match": (scores > 0.6).astype(float),
        "hallucination": 1 - scores,
        "latency_ms": 100 * (1 + quality) + 300 * shift,
        "language": ["en", "ru", "en"] * 20,
        "session": [f"s{n // 3}" for n in range(60)],
    }
    return pa.table(columns | changed)


OLD, NEW = run(0.0), run(0.03)
"""Two runs of sixty questions; the new one is better by three points and slower by nine milliseconds."""

PEOPLE: dict[str, Any] = {"id": [f"q{n}" for n in range(40)], "human": [1.0 + n % 5 for n in range(40)]}
"""Grades of people for the first forty questions."""


def judged(step: int) -> dict[str, Any]:
    """Sixty rows of a judge with two repeats, whose grades differ from those of people in every so manieth row."""
    grades = [[float(1 + (n + (n % step == 0)) % 5), float(1 + n % 5)] for n in range(60)]
    status = ["timeout" if n % 20 == 0 else "ok" for n in range(60)]
    return {
        "id": [f"q{n}" for n in range(60)],
        "language": ["en", "ru", "en"] * 20,
        "answer": ["word " * (1 + n % 5) for n in range(60)],
        "judge_x": [None if n % 20 == 0 else sum(pair) / 2 for n, pair in enumerate(grades)],
        "judge_x_status": status,
        "judge_x_scores": [[None, None] if n % 20 == 0 else pair for n, pair in enumerate(grades)],
        "judge_x_statuses": [[one, one] for one in status],
        "judge_x_prompt_tokens": [10] * 60,
        "judge_x_completion_tokens": [2] * 60,
        "judge_x_latency_ms": [float(n) for n in range(60)],
    }


QRELS = {f"q{n}": {"d1": 1 + n % 3, "d2": n % 2} for n in range(20)}
RANKINGS = {
    "poor": {f"q{n}": {"d1": 1.0, "d2": 2.0 + n % 3, "d3": 3.0} for n in range(18)},
    "good": {f"q{n}": {"d1": 3.0, "d2": 2.0, "d3": 1.0 + n % 4} for n in range(20)},
}
"""Two rankings of twenty judged queries, of which the poor one lacks two."""

CLASSES = {
    "label": ["a", "b", "a", None, "c", "a", "b\n<i>", "b"] * 3,
    "expected_label": ["a", "a", "a", "b", "c", "A", "b", None] * 3,
    "part": ["x", "y"] * 12,
}
"""Predicted labels and expected ones: right, wrong, missing, in another case, and one that no row expects."""

PAIRED = {
    "id": [1, 2, 3, 4, 5],
    "overlap_faithfulness": [1.0, 0.9, 0.6, 0.0, None],
    "grounding_overlap": [1.0, 0.75, 0.0, 0.0, 0.2],
    "token_f1": [1.0, 0.2, 0.8, 0.0, 0.9],
    "exact_match(tokenizer='plain')": [1.0, 0.0, 0.0, 0.0, 0.0],
    "total_tokens": [100.0, 120.0, 90.0, 40.0, 50.0],
    "latency_ms": [10.0, 20.0, 30.0, 5.0, 60.0],
    "abstained": [0.0, 0.0, 0.0, 1.0, 0.0],
}
"""A run with the figures of the primary table: faithful or not, right or not, and one row that abstains."""
