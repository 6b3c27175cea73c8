"""The scores of a judge, stored in columns ``judge_<rubric>``, as metrics (the RAG benchmark, tiers 2 and 3).

``fastmetrics judge run`` writes these columns; a row that the judge gave no score has none here.  Each metric is the
column itself, with the range of its rubric, so that a suite, a summary and a comparison treat it like any other score.
The rubrics of the sources have metrics of their own; the column of any other rubric is a metric where it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Flags, Floats
from fastmetrics.base.errors import InputError
from fastmetrics.metrics.batch import Batch, Number, Numbers, Options, ScoresIn
from fastmetrics.metrics.metric import Metric, metric


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


# The scores of any other rubric.


class JudgedMetric(Metric):
    """The metric of a column of a judge's scores that is not declared above; higher is better, as in every rubric."""

    @classmethod
    def of(cls, name: str, bounds: tuple[float, float] = (-np.inf, np.inf)) -> JudgedMetric:
        """The metric of a column; its ``bounds`` are the range of the rubric, where that is known."""
        return cls(
            name=name,
            function=cls.of,
            bounds=bounds,
            better="higher",
            source=f"the rubric {name.removeprefix('judge_')} of a judge",
            needs={name: ScoresIn()},
        )

    def __reduce__(self) -> tuple[Callable[..., Metric], tuple[Any, ...]]:
        """Other processes make the declaration anew."""
        return JudgedMetric.of, (self.name, self.bounds)

    def within(self, bounds: tuple[float, float] | None) -> JudgedMetric:
        """The metric with the range that the judge's file has stored, if it has one."""
        return self if bounds is None else replace(self, bounds=bounds)

    def _call(self, batch: Batch, options: Options) -> tuple[Any, Flags]:
        values, present = self.needs[self.name].of(batch, self.name, options)
        return _within(Numbers(values), self.name, *self.bounds), present
