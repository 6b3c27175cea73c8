"""Consistency, error rate and latency of a judge."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmetrics.core.allowed_values import Real, argument
from fastmetrics.core.arrays import Floats
from fastmetrics.errors import InputError, OptionError
from fastmetrics.errors.messages import Argument
from fastmetrics.stats.agreement import krippendorff_alpha

_SHARE = 0.125
"""The default tolerance as a share of the range: 0.5 of the range 1 to 5."""
_RELIABLE, _UNSTABLE = 0.9, 0.7
_NO_CALL = ("missing", "too_long", "budget")
"""Statuses of rows without a call."""
PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True)
class Consistency:
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

    @property
    def reading(self) -> str:
        """``reliable`` above 0.9, ``unstable`` below 0.7, ``fair`` between, ``undefined`` without repeats."""
        if math.isnan(self.share):
            return "undefined"
        return "reliable" if self.share > _RELIABLE else "unstable" if self.share < _UNSTABLE else "fair"


def judge_consistency(
    scores: Any, *, range: tuple[float, float] = (1, 5), tolerance: float | None = None
) -> Consistency:
    """Agreement between repeated scores; ``scores`` has one row per question and one column per repeat.

    Null and NaN scores are ignored.  Two scores agree if they differ by at most ``tolerance``, by default an eighth of
    the rubric's ``range``: 0.5 for 1 to 5, 0.125 for 0 to 1.  For two repeats, the share is over the rows with both
    scores; for more, it is the mean of that share over the pairs of repeats that have such rows.

    >>> found = judge_consistency([[4, 4.5], [3, 5], [2, 2], [1, None]])
    >>> round(found.share, 4), found.n, found.reading
    (0.6667, 3, 'unstable')

    Raises ``InputError`` for rows of different length and ``OptionError`` for an empty range or a negative tolerance.
    """
    low, high = range
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise OptionError(Argument("range", range), ": expected the lowest and the highest score")
    limit = (high - low) * _SHARE if tolerance is None else argument("tolerance", tolerance, Real(0, high - low))
    given = _matrix(scores)
    known = ~np.isnan(given)
    shares = []
    for first, second in itertools.combinations(np.arange(given.shape[1]), 2):
        both = known[:, first] & known[:, second]
        close = np.abs(given[both, first] - given[both, second]) <= limit + 1e-12 * (high - low)
        shares += [int(close.sum()) / len(close)] if len(close) else []
    several = given[known.sum(axis=1) >= 2]
    return Consistency(
        share=_mean(shares),
        deviation=_mean([float(np.std(row[~np.isnan(row)], ddof=1)) for row in several]),
        alpha=krippendorff_alpha(several.T, "interval") if len(several) else math.nan,
        n=len(several),
        tolerance=float(limit),
    )


def _matrix(scores: Any) -> Floats:
    rows = [[math.nan if one is None else float(one) for one in row] for row in scores]
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise InputError(f"expected the same number of repeats in each row, got {min(lengths)} and {max(lengths)}")
    return np.array(rows, np.float64).reshape(len(rows), lengths.pop() if lengths else 0)


def judge_error_rate(statuses: Sequence[str | None]) -> float:
    """Calls without a score / calls, by their statuses; NaN if there were no calls.

    Only ``ok`` has a score.  ``missing``, ``too_long``, ``budget`` and null mean that no call was made.

    >>> judge_error_rate(["ok", "unparsed", "ok", "timeout", "missing"])
    0.5
    """
    calls = [one for one in statuses if one is not None and one not in _NO_CALL]
    return sum(one != "ok" for one in calls) / len(calls) if calls else math.nan


@dataclass(frozen=True)
class Latency:
    """Milliseconds: the mean and percentiles (linear interpolation, as NumPy) of ``n`` values; NaN without values."""

    n: int
    mean: float
    percentiles: Mapping[str, float]


def judge_latency(milliseconds: Any) -> Latency:
    """The mean and percentiles of the latency of calls; null and NaN are ignored.

    >>> judge_latency([100, 200, 300, None]).percentiles["p50"]
    200.0
    """
    values = np.array([math.nan if one is None else one for one in milliseconds], np.float64)
    values = values[~np.isnan(values)]
    found = np.percentile(values, PERCENTILES).tolist() if len(values) else [math.nan] * len(PERCENTILES)
    names = [f"p{one}" for one in PERCENTILES]
    return Latency(len(values), _mean(values.tolist()), dict(zip(names, found, strict=True)))


def status_counts(statuses: Sequence[str | None]) -> dict[str, int]:
    """The count of each status, in alphabetical order; null is ``none``."""
    return dict(sorted(Counter(one or "none" for one in statuses).items()))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if len(values) else math.nan
