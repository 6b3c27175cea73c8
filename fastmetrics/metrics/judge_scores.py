"""The scores of a judge, stored in columns ``judge_<rubric>``, as metrics (the RAG benchmark, tiers 2 and 3).

``fastmetrics judge`` writes these columns; a row that the judge gave no score has none here.  Each metric is the column
itself, with the range of its rubric, so that a suite, a summary and a comparison treat it like any other score.
"""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Floats
from fastmetrics.base.errors import InputError
from fastmetrics.metrics.batch import Number, Numbers
from fastmetrics.metrics.metric import metric


def _within(scores: Numbers, column: str, low: float, high: float) -> Floats:
    """The scores; raises ``InputError`` if one is outside the range of the rubric."""
    outside = scores.values[(scores.values < low) | (scores.values > high)]
    if outside.size:
        rubric = column.removeprefix("judge_")
        raise InputError(
            f"column {column!r}: expected scores from {low:g} to {high:g}, as of the rubric {rubric}, got "
            f"{outside[0]:g}; give the scores of another rubric another name"
        )
    return np.asarray(scores.values)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 2, faithfulness",
    labels={"mean": "avg_faithfulness"},
    usual=False,
)
def judge_answer_faithfulness(judge_answer_faithfulness: Number) -> Floats:
    """The judge's score from 0 to 1 of how much of the answer its contexts support (rubric ``answer_faithfulness``).

    Raises ``InputError`` for a score outside this range.

    >>> import fastmetrics as fm
    >>> fm.judge_answer_faithfulness([0.5, None, 1.0])
    array([0.5, nan, 1. ])
    """
    return _within(judge_answer_faithfulness, "judge_answer_faithfulness", 0, 1)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 2, answer relevance",
    labels={"mean": "avg_answer_relevance"},
    usual=False,
)
def judge_answer_relevance(judge_answer_relevance: Number) -> Floats:
    """The judge's score from 0 to 1 of how well the answer addresses the question (rubric ``answer_relevance``).

    Raises ``InputError`` for a score outside this range.

    >>> import fastmetrics as fm
    >>> fm.judge_answer_relevance([0.25, 1.0])
    array([0.25, 1.  ])
    """
    return _within(judge_answer_relevance, "judge_answer_relevance", 0, 1)


@metric(
    bounds=(1, 5),
    better="higher",
    source="S2, tier 2, answer correctness",
    labels={"mean": "avg_answer_correctness"},
    usual=False,
)
def judge_correctness(judge_correctness: Number) -> Floats:
    """The judge's score from 1 to 5 of the answer's correctness against the reference (rubric ``correctness``).

    Raises ``InputError`` for a score outside this range.

    >>> import fastmetrics as fm
    >>> fm.judge_correctness([5, 3.5])
    array([5. , 3.5])
    """
    return _within(judge_correctness, "judge_correctness", 1, 5)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 3, E2E score",
    labels={"mean": "avg_e2e_score"},
    usual=False,
)
def judge_e2e(judge_e2e: Number) -> Floats:
    """The judge's score from 0 to 1 of the answer as a whole, given question and reference (rubric ``e2e``).

    Raises ``InputError`` for a score outside this range.

    >>> import fastmetrics as fm
    >>> fm.judge_e2e([0.75])
    array([0.75])
    """
    return _within(judge_e2e, "judge_e2e", 0, 1)
