"""Readings: the usual interpretation of a mean (S2's bands), a rough guide only."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from fastmetrics.declaration.metric import Better


@dataclass(frozen=True)
class Band:
    """A mean above ``good`` is good, below ``poor`` it is poor, and between them it is medium."""

    good: float
    poor: float | None = None
    """None if the source defines no poor mean; a mean that is not good then has no reading."""


READINGS: Mapping[str, Band] = {
    "ndcg": Band(0.9, 0.5),
    "rougeL_f1": Band(0.5),
    "rouge1_f1": Band(0.4),
    "bleu": Band(50, 20),
    "corpus_bleu": Band(50, 20),
    "judge_faithfulness": Band(0.8, 0.5),
    "judge_relevance": Band(0.8),
    "overall_accuracy": Band(0.95, 0.85),
}
"""S2's bands by metric; the cut-offs of one metric (``ndcg@10``) share its band."""


def reading(metric: str, mean: float) -> str | None:
    """``good``, ``middling`` or ``poor``, or None where the source says nothing.

    >>> reading("ndcg@10", 0.93), reading("ndcg", 0.2), reading("rougeL_f1", 0.3), reading("jaccard", 1.0)
    ('good', 'poor', None, None)
    """
    band = READINGS.get(re.split(r"[@(]", metric)[0])
    if band is None or math.isnan(mean):
        return None
    if mean > band.good:
        return "good"
    return None if band.poor is None else "poor" if mean < band.poor else "middling"


def turn(better: Better, delta: float) -> str:
    """The kind of a difference: ``gain``, ``loss``, ``change`` (direction unknown) or ``same``."""
    if math.isnan(delta) or delta == 0:
        return "same"
    if better is None:
        return "change"
    return "gain" if (delta > 0) == (better == "higher") else "loss"
