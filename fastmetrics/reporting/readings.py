"""Readings: the usual interpretation of a mean by the bands of the sources, a rough guide only."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from fastmetrics.base.specs import Better
from fastmetrics.plans.stored_metadata import Stored
from fastmetrics.results.score_columns import declared_better, declared_bounds, declared_readings


@dataclass(frozen=True)
class Band:
    """A mean better than ``good`` is good, worse than ``poor`` it is poor, and between them it is middling."""

    good: float
    poor: float | None = None
    """None if the source defines no poor mean; a mean that is not good then has no reading."""
    range: tuple[float, float] = (0, 1)
    """The lowest and the highest score that the band belongs to; scores of another range have no reading."""
    beyond: str = "good"
    """What a mean better than ``good`` is called: ``acceptable`` where the source says no more."""


READINGS: Mapping[str, Band] = {
    "ndcg": Band(0.9, 0.5),
    "rougeL_f1": Band(0.5),
    "rouge1_f1": Band(0.4, beyond="acceptable"),
    "bleu": Band(50, 20, (0, 100)),
    "corpus_bleu": Band(50, 20, (0, 100)),
    "judge_answer_faithfulness": Band(0.8, 0.5),
    "judge_answer_relevance": Band(0.8),
    "judge_e2e": Band(0.8, 0.5),
}
"""The sources' bands of metrics that declare no reading; the cut-offs of one metric (``ndcg@10``) share its band."""


def reading(metric: str, mean: float, stored: Stored, highest: float = math.nan) -> str | None:
    """``good``, ``acceptable``, ``middling`` or ``poor``; None where neither declaration nor source says anything.

    A band of the sources needs the declared range of the metric to be its own, and no score (``highest``) above it.

    >>> [reading(name, mean, {}) for name, mean in (("ndcg@10", 0.93), ("ndcg", 0.2), ("rougeL_f1", 0.3))]
    ['good', 'poor', None]
    """
    name = stored[metric].spec if metric in stored else metric
    own = declared_readings([metric], stored).get(metric)
    band = READINGS.get(re.split(r"[@(]", name)[0]) if own is None else Band(*own)
    if band is None or math.isnan(mean):
        return None
    is_other_range = declared_bounds([metric], stored).get(metric) != band.range or max(mean, highest) > band.range[1]
    if own is None and is_other_range:
        return None
    sign = -1 if declared_better([metric], stored).get(metric) == "lower" else 1
    if sign * mean > sign * band.good:
        return band.beyond
    return None if band.poor is None else "poor" if sign * mean < sign * band.poor else "middling"


def turn(better: Better, delta: float) -> str:
    """The kind of a difference: ``gain``, ``loss``, ``change`` (direction unknown) or ``same``."""
    if math.isnan(delta) or delta == 0:
        return "same"
    if better is None:
        return "change"
    return "gain" if (delta > 0) == (better == "higher") else "loss"
