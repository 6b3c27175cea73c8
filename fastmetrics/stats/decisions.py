"""The quality of a judge's decisions against labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmetrics.core.allowed_values import Real, argument
from fastmetrics.core.arrays import Floats
from fastmetrics.errors import InputError
from fastmetrics.stats.association import Estimate, associate
from fastmetrics.stats.judge_quality import Latency, judge_latency
from fastmetrics.stats.proportions import wilson


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
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Decisions:
    """The quality of decisions: counts, accuracy, precision, recall and F1, each with its interval, and latency.

    ``shown`` and ``labels`` contain booleans (or 0 and 1): the decision and the correct decision; rows with null or NaN
    are ignored.  0/0 is 0.  Accuracy, precision and recall have Wilson intervals.  The interval of F1 consists of
    percentiles of ``resamples`` bootstrap samples, whose draws depend only on ``seed`` and position.  A figure with a
    zero denominator has a NaN interval; that of F1 is also NaN if no row should have been shown.

    >>> found = judge_decisions([1, 1, 0, 0, None], [1, 0, 1, 0, 1])
    >>> found.tp, found.fp, found.fn, found.tn, found.f1.value
    (1, 1, 1, 1, 0.5)

    Raises ``InputError`` for columns of different length and for values other than 0 and 1.
    """
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    called, good = _flags("shown", shown), _flags("labels", labels)
    if len(called) != len(good):
        raise InputError(f"shown has {len(called):,} rows and labels {len(good):,}")
    known = ~np.isnan(called) & ~np.isnan(good)
    called, good = called[known], good[known]
    tp, fp = int((called * good).sum()), int((called * (1 - good)).sum())
    fn, tn = int(((1 - called) * good).sum()), int(((1 - called) * (1 - good)).sum())
    wanted = {"resamples": resamples, "confidence": confidence, "seed": seed}
    drawn = associate(called, good, positive=1.0, threshold=1.0, **wanted).f1  # type: ignore[arg-type]
    f1 = 2 * tp / (2 * tp + fp + fn) if tp else 0.0
    return Decisions(
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        n_left_out=int((~known).sum()),
        accuracy=_share(tp + tn, len(called), confidence),
        precision=_share(tp, tp + fp, confidence),
        recall=_share(tp, tp + fn, confidence),
        f1=Estimate(f1, drawn.low, drawn.high),
        latency=judge_latency(latency_ms),
        confidence=confidence,
    )


def _share(hits: int, n: int, confidence: float) -> Estimate:
    return wilson(hits, n, confidence) if n else Estimate(0.0, math.nan, math.nan)


def _flags(name: str, given: Any) -> Floats:
    """0, 1 and NaN."""
    values = np.array([math.nan if one is None else one for one in given], np.float64)
    other = ~(np.isnan(values) | (values == 0) | (values == 1))
    if other.any():
        row = int(other.argmax())
        raise InputError(f"{name}, row {row}: expected true or false (1 or 0), got {values[row]:g}")
    return values
