"""Readings: the usual interpretation of a mean (S2's bands), a rough guide only."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from fastmetrics.declaration.metric import Better
from fastmetrics.plan.stored_declarations import Stored
from fastmetrics.results.runs.declared_metrics import declared_better, declared_readings


@dataclass(frozen=True)
class Band:
    """A mean better than ``good`` is good, worse than ``poor`` it is poor, and between them it is medium."""

    good: float
    poor: float | None = None
    """None if the source defines no poor mean; a mean that is not good then has no reading."""
    highest: float = math.inf
    """The highest possible score; a mean above it is on another scale and has no reading."""


READINGS: Mapping[str, Band] = {
    "ndcg": Band(0.9, 0.5),
    "rougeL_f1": Band(0.5),
    "rouge1_f1": Band(0.4),
    "bleu": Band(50, 20),
    "corpus_bleu": Band(50, 20),
    "judge_answer_faithfulness": Band(0.8, 0.5, highest=1),
    "judge_answer_relevance": Band(0.8, highest=1),
    "overall_accuracy": Band(0.95, 0.85),
}
"""S2's bands of metrics that declare no reading; the cut-offs of one metric (``ndcg@10``) share its band."""


def reading(metric: str, mean: float, stored: Stored) -> str | None:
    """``good``, ``middling`` or ``poor``, or None where neither the declaration nor the source says anything.

    >>> [reading(name, mean, {}) for name, mean in (("ndcg@10", 0.93), ("ndcg", 0.2), ("rougeL_f1", 0.3))]
    ['good', 'poor', None]
    """
    name = stored[metric].spec if metric in stored else metric
    own = declared_readings([metric], stored).get(metric)
    band = READINGS.get(re.split(r"[@(]", name)[0]) if own is None else Band(*own)
    if band is None or math.isnan(mean) or mean > band.highest:
        return None
    sign = -1 if declared_better([metric], stored).get(metric) == "lower" else 1
    if sign * mean > sign * band.good:
        return "good"
    return None if band.poor is None else "poor" if sign * mean < sign * band.poor else "middling"


def turn(better: Better, delta: float) -> str:
    """The kind of a difference: ``gain``, ``loss``, ``change`` (direction unknown) or ``same``."""
    if math.isnan(delta) or delta == 0:
        return "same"
    if better is None:
        return "change"
    return "gain" if (delta > 0) == (better == "higher") else "loss"
