"""The size of an experiment: questions needed to detect a difference, and the difference that questions detect."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fastmetrics.base.errors import InputError


@dataclass(frozen=True)
class DifferenceVariance:
    """The variance of one question's difference between two systems, by source.

    With K answers to each question, its variance is ``between`` + (``within_baseline`` + ``within_other``) / K.
    """

    between: float
    """ω², between questions: the variance of the true differences."""
    within_baseline: float = 0.0
    """σ² of one answer of the baseline within a question."""
    within_other: float = 0.0
    design_effect: float = 1.0
    """The variance of Δ with clustered questions over that with independent ones."""
    cluster_size: float = 1.0
    """Questions per cluster, on average."""

    def of_question(self, repeats: int) -> float:
        """The effective variance of a question's difference with ``repeats`` answers of both systems."""
        return self.design_effect * (self.between + (self.within_baseline + self.within_other) / repeats)


def detectable_difference(variance: float, n: float, cluster_size: float, alpha: float, power: float) -> float:
    """The smallest true difference that ``n`` questions of this variance detect: (t₁₋α/₂ + t_power)·√(variance/n).

    t has one degree of freedom less than there are clusters.  NaN for fewer than two clusters.
    """
    from scipy.special import stdtrit

    freedom = n / cluster_size - 1
    if freedom < 1:
        return math.nan
    return float((stdtrit(freedom, 1 - alpha / 2) + stdtrit(freedom, power)) * math.sqrt(variance / n))


def questions_needed(variance: float, delta: float, cluster_size: float, alpha: float, power: float) -> int:
    """The fewest questions that detect a true difference ``delta`` with this power.

    The smallest n with ``detectable_difference`` ≤ ``delta``; at least two clusters.

    >>> questions_needed(0.25, 0.05, 1.0, 0.05, 0.8)
    787
    """
    if not delta > 0:
        raise InputError(f"expected a difference above 0, got {delta}")
    low = math.ceil(2 * cluster_size) - 1
    high = low + 1
    while not detectable_difference(variance, high, cluster_size, alpha, power) <= delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if detectable_difference(variance, middle, cluster_size, alpha, power) <= delta:
            high = middle
        else:
            low = middle
    return high


def highest_variance(variance: float, freedom: float, confidence: float) -> float:
    """The upper confidence bound of a variance that was estimated with this many degrees of freedom.

    variance · f / χ²_f, with χ²_f the lower quantile at 1 − confidence; exact for normal differences.
    """
    from scipy.special import chdtri

    return variance * freedom / float(chdtri(freedom, confidence)) if freedom > 0 else math.nan
