"""The quality of a judge's decisions against labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastmetrics.core.allowed_values import Real, argument
from fastmetrics.core.arrays import Floats
from fastmetrics.core.columns import as_numbers
from fastmetrics.errors import InputError
from fastmetrics.stats.estimate import Estimate
from fastmetrics.stats.judge_quality import Latency, judge_latency
from fastmetrics.stats.shares import f1_share, share


@dataclass(frozen=True)
class Decisions:
    """The confusion table of decisions, and figures derived from it."""

    tp: int
    """Shown correctly."""
    fp: int
    """Shown, but should have been held back."""
    fn: int
    """Held back, but should have been shown."""
    tn: int
    """Held back correctly."""
    n_left_out: int
    """Rows without a decision or a label."""
    accuracy: Estimate
    precision: Estimate
    recall: Estimate
    f1: Estimate
    latency: Latency
    confidence: float


def judge_decisions(
    shown: Any,
    labels: Any,
    *,
    latency_ms: Any = (),
    confidence: float = 0.95,
) -> Decisions:
    """The quality of decisions: counts, accuracy, precision, recall and F1, each with its interval, and latency.

    ``shown`` and ``labels`` contain booleans (or 0 and 1): the decision and the correct decision; rows with null or NaN
    are ignored.  0/0 is 0.  The intervals are exact (Clopper and Pearson 1934), that of F1 by way of the share TP/(TP +
    FP + FN), of which F1 is a function.  A figure with a zero denominator has no interval: NaN.

    >>> found = judge_decisions([1, 1, 0, 0, None], [1, 0, 1, 0, 1])
    >>> found.tp, found.fp, found.fn, found.tn, found.f1.value
    (1, 1, 1, 1, 0.5)

    Raises ``InputError`` for columns of different length and for values other than 0 and 1, ``ColumnError`` for columns
    that contain neither numbers nor booleans.
    """
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    called, good = _flags("shown", shown), _flags("labels", labels)
    if len(called) != len(good):
        raise InputError(f"shown has {len(called):,} rows and labels {len(good):,}")
    complete = ~np.isnan(called) & ~np.isnan(good)
    called, good = called[complete], good[complete]
    tp, fp = int((called * good).sum()), int((called * (1 - good)).sum())
    fn, tn = int(((1 - called) * good).sum()), int(((1 - called) * (1 - good)).sum())
    return Decisions(
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        n_left_out=int((~complete).sum()),
        accuracy=_zero_by_zero(share(tp + tn, len(called), confidence)),
        precision=_zero_by_zero(share(tp, tp + fp, confidence)),
        recall=_zero_by_zero(share(tp, tp + fn, confidence)),
        f1=_zero_by_zero(f1_share(tp, fp + fn, confidence)),
        latency=judge_latency(latency_ms),
        confidence=confidence,
    )


def _zero_by_zero(estimate: Estimate) -> Estimate:
    return replace(estimate, value=0.0) if math.isnan(estimate.value) else estimate


def _flags(name: str, data: Any) -> Floats:
    """0, 1 and NaN."""
    values = as_numbers(data, name)
    other = ~(np.isnan(values) | (values == 0) | (values == 1))
    if other.any():
        row = int(other.argmax())
        raise InputError(f"{name}, row {row}: expected true or false (1 or 0), got {values[row]:g}")
    return values
