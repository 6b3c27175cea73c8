"""The quality of a judge: consistency, error rate, latency, and its decisions against labels."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats, floats_of_arrow
from fastmetrics.base.arrow import is_list
from fastmetrics.base.columns import as_array, as_matrix, as_numbers, as_strings
from fastmetrics.base.display import FigureTable, Grid
from fastmetrics.base.errors import Argument, InputError, OptionError
from fastmetrics.base.options import Real, argument
from fastmetrics.stats.agreement.agreement import krippendorff_alpha
from fastmetrics.stats.intervals.estimates import Estimate, Interval, Sample
from fastmetrics.stats.intervals.mean_interval import mean_interval
from fastmetrics.stats.intervals.shares import f1_share, share

_SHARE = 0.125
"""The default tolerance as a share of the range: 0.5 of the range 1 to 5."""
_RELIABLE, _UNSTABLE = 0.9, 0.7
_NO_CALL = ("missing", "too_long", "budget", "identical", "unasked")
"""Statuses of rows without a call."""
PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True)
class Consistency(FigureTable):
    """Agreement of the repeats of one question; NaN if no row has two scores."""

    share: float
    """Rows whose two scores differ by at most the tolerance / rows; for more repeats, the mean over pairs."""
    deviation: float
    """The mean over rows of the standard deviation of the row's scores (ddof = 1)."""
    alpha: float
    """Krippendorff's alpha of the repeats, as numbers."""
    n: int
    """Rows with two scores or more."""
    tolerance: float
    interval: Interval
    """The interval of the share over rows, whose repeats belong together."""

    @property
    def figure_intervals(self) -> Mapping[str, Interval]:
        """The interval of the share."""
        return {"share": self.interval}

    @property
    def reading(self) -> str:
        """``reliable`` above 0.9, ``unstable`` below 0.7, ``fair`` between, ``undefined`` without repeats."""
        if math.isnan(self.share):
            return "undefined"
        return "reliable" if self.share > _RELIABLE else "unstable" if self.share < _UNSTABLE else "fair"


def judge_consistency(
    scores: Any,
    *,
    range: tuple[float, float] = (1, 5),
    tolerance: float | None = None,
    confidence: float = 0.95,
) -> Consistency:
    """Agreement between repeated scores; ``scores`` has one row per question and one column per repeat.

    Null and NaN scores are ignored.  Two scores agree if they differ by at most ``tolerance``, by default an eighth of
    the rubric's ``range``: 0.5 for 1 to 5, 0.125 for 0 to 1.  For two repeats, the share is over the rows with both
    scores; for more, it is the mean of that share over the pairs of repeats that have such rows.  The
    interval is that of a mean over rows (:func:`fastmetrics.stats.intervals.mean_interval.mean_interval`).

    >>> found = judge_consistency([[4, 4.5], [3, 5], [2, 2], [1, None]])
    >>> round(found.share, 4), found.n, found.reading
    (0.6667, 3, 'unstable')

    Raises ``ColumnError`` for rows of different length and ``OptionError`` for an empty range or a negative tolerance.
    """
    low, high = range
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise OptionError(Argument("range", range), ": expected the lowest and the highest score")
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    limit = (high - low) * _SHARE if tolerance is None else argument("tolerance", tolerance, Real(0, high - low))
    matrix = as_matrix(scores, "scores")
    present = ~np.isnan(matrix)
    shares = []
    agreed, compared = np.zeros(len(matrix)), np.zeros(len(matrix))
    for first, second in itertools.combinations(np.arange(matrix.shape[1]), 2):
        both = present[:, first] & present[:, second]
        close = np.abs(matrix[both, first] - matrix[both, second]) <= limit + 1e-12 * (high - low)
        shares += [int(close.sum()) / len(close)] if len(close) else []
        agreed[both] += close
        compared[both] += 1
    several = matrix[present.sum(axis=1) >= 2]
    return Consistency(
        share=_mean(shares),
        deviation=_mean([float(np.std(row[~np.isnan(row)], ddof=1)) for row in several]),
        alpha=krippendorff_alpha(several.T, level="interval") if len(several) else math.nan,
        n=len(several),
        tolerance=float(limit),
        interval=_share_interval(_mean(shares), agreed[compared > 0] / compared[compared > 0], confidence),
    )


def _share_interval(share: float, rows: Floats, confidence: float) -> Interval:
    """The interval of the mean share of rows, moved to a share in which rows without some repeats weigh less."""
    if math.isnan(share):
        return Interval(math.nan, math.nan, "none")
    sample = Sample.of(rows, None, (0.0, 1.0))
    interval, moved = mean_interval(sample, confidence), share - sample.mean
    return replace(interval, low=max(interval.low + moved, 0.0), high=min(interval.high + moved, 1.0))


def judge_error_rate(statuses: Any) -> float:
    """Calls without a score / calls, by their statuses; NaN if there were no calls.

    Only ``ok`` has a score.  ``missing``, ``too_long``, ``budget``, ``identical`` and null mean that no call was made.

    >>> judge_error_rate(["ok", "unparsed", "ok", "timeout", "missing"])
    0.5

    Raises ``ColumnError`` for a column that is not text.
    """
    calls = [status for status in as_strings(statuses, "statuses") if status is not None and status not in _NO_CALL]
    return sum(status != "ok" for status in calls) / len(calls) if calls else math.nan


@dataclass(frozen=True)
class Latency(FigureTable):
    """Milliseconds: the mean and percentiles (linear interpolation, as NumPy) of ``n`` values; NaN without values."""

    n: int
    mean: float
    percentiles: Mapping[str, float]


def judge_latency(milliseconds: Any) -> Latency:
    """The mean and percentiles of the latency of judgements; null and NaN are ignored.

    ``milliseconds`` has one value for each judgement, or a list of them for each row: ``judge_X_latency_ms`` without
    repeats, ``judge_X_latencies_ms`` with repeats.  A judgement that took a second request lasts as long as both.

    >>> judge_latency([100, 200, 300, None]).percentiles["p50"]
    200.0
    >>> judge_latency([[100, 300], [200, None]]).n
    3

    Raises ``ColumnError`` for a column that contains neither numbers nor lists of them.
    """
    array = as_array(milliseconds, "milliseconds")
    values = floats_of_arrow(array.flatten() if is_list(array.type) else array, "milliseconds")
    values = values[~np.isnan(values)]
    percentiles = np.percentile(values, PERCENTILES).tolist() if len(values) else [math.nan] * len(PERCENTILES)
    names = [f"p{percent}" for percent in PERCENTILES]
    return Latency(len(values), _mean(values.tolist()), dict(zip(names, percentiles, strict=True)))


def status_counts(statuses: Sequence[str | None]) -> dict[str, int]:
    """The count of each status, in alphabetical order; null is ``none``."""
    return dict(sorted(Counter(status or "none" for status in statuses).items()))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if len(values) else math.nan


@dataclass(frozen=True)
class JudgeDecisions(FigureTable):
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

    def grids(self) -> Sequence[Grid]:
        """The figures, and the latency."""
        return [*super().grids(), *self.latency.grids()]


def judge_decisions(
    shown: Any,
    labels: Any,
    *,
    latency_ms: Any = (),
    confidence: float = 0.95,
) -> JudgeDecisions:
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
    predicted, good = _flags("shown", shown), _flags("labels", labels)
    if len(predicted) != len(good):
        raise InputError(f"shown has {len(predicted):,} rows and labels {len(good):,}")
    complete = ~np.isnan(predicted) & ~np.isnan(good)
    predicted, good = predicted[complete], good[complete]
    tp, fp = int((predicted * good).sum()), int((predicted * (1 - good)).sum())
    fn, tn = int(((1 - predicted) * good).sum()), int(((1 - predicted) * (1 - good)).sum())
    return JudgeDecisions(
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        n_left_out=int((~complete).sum()),
        accuracy=_zero_by_zero(share(tp + tn, len(predicted), confidence)),
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
