"""Prediction-powered inference: the mean of human labels over all judged rows, from few labelled rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from fastmetrics.core.allowed_values import Real, argument
from fastmetrics.core.arrays import Floats
from fastmetrics.core.display import Grid, Shown, number
from fastmetrics.errors import InputError
from fastmetrics.stats.association import Estimate


@dataclass(frozen=True)
class PoweredMean(Shown):
    """The mean of human labels: from labels and judge together, from the labels alone, and from the judge alone."""

    powered: Estimate
    """The prediction-powered mean and its interval."""
    plain: Estimate
    """The mean of the labels alone and its normal interval."""
    judge_mean: float
    """The mean score over all judged rows, without correction."""
    lam: float
    """λ, the weight of the judge's scores on rows without a label, from 0 to 1."""
    lam_over_all: float
    """The equivalent weight if the judge's mean is over all rows, including labelled ones."""
    n_labelled: int
    """Rows with a score and a label."""
    n_judged: int
    """Rows with a score."""
    n_no_score: int
    """Labelled rows without a score, which are not used."""
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """Everything as nested dictionaries of plain values."""
        return asdict(self)

    def grids(self) -> Sequence[Grid]:
        """The three means."""
        rows = [("prediction-powered", *_cells(self.powered), number(self.n_judged))]
        rows += [("labels alone", *_cells(self.plain), number(self.n_labelled))]
        rows += [("judge alone", number(self.judge_mean), "", "", number(self.n_judged))]
        return [Grid(("mean", "value", "low", "high", "rows"), rows)]

    def remarks(self) -> Sequence[str]:
        """The value of lambda, and the conditions of validity."""
        said = [f"lambda {number(self.lam)}; low and high: {self.confidence * 100:g} % confidence intervals"]
        said += [f"{self.n_no_score:,} labelled rows without a score are left out"] if self.n_no_score else []
        return [*said, "valid if the labelled rows are a random sample of the judged rows"]


def _cells(one: Estimate) -> tuple[str, str, str]:
    return number(one.value), number(one.low), number(one.high)


def powered_mean(scores: Any, labels: Any, confidence: float = 0.95) -> PoweredMean:
    """The mean of a label over all judged rows, of which few are labelled; NaN is no score or no label.

    With the labels Y and scores F of the n labelled rows and the scores G of the N others,
    θ = λ·mean(G) + mean(Y − λ·F), s² = λ²·var(G)/N + var(Y − λ·F)/n, and the interval is θ ± z·s.  λ is the plug-in
    that makes s² least, cov(Y, F) / ((1 + n/N)·var(F and G)), clipped to 0 … 1; variances are divided by the number of
    rows but that of F and G together, by one less, as in the package ``ppi-python``.  With λ' = λ·(n + N)/N
    (``lam_over_all``) the same θ is λ'·mean(score over all rows) + mean(Y − λ'·F).

    λ is 0, and only the labels are used, if all scores are equal, all rows are labelled, or only one row is.  One label
    has no interval: NaN.  The order of the rows does not change the result.  Source: Angelopoulos, Duchi and Zrnic
    2023, PPI++.

    >>> found = powered_mean([1, 2, 3, 4, 5, 5, 4, 5], [1, 2, 3, 5, float("nan"), float("nan"), float("nan"), None])
    >>> round(found.plain.value, 3), round(found.powered.value, 3), round(found.lam, 3)
    (2.75, 3.556, 0.358)

    Raises ``InputError`` for columns of different length, an infinite label or score, or no row with both.
    """
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    given, truth = np.asarray(scores, np.float64), np.asarray(labels, np.float64)
    if given.shape != truth.shape or given.ndim != 1:
        raise InputError(f"expected scores and labels of equal length, got shapes {given.shape} and {truth.shape}")
    for what, values in (("score", given), ("label", truth)):
        if np.isinf(values).any():
            raise InputError(f"row {int(np.isinf(values).argmax())}: expected a finite {what}")
    judged, labelled = ~np.isnan(given), ~np.isnan(truth)
    both = judged & labelled
    if not both.any():
        raise InputError(
            f"no row has both a score and a label: {judged.sum():,} have a score, {labelled.sum():,} a label"
        )
    y, f, g = truth[both], given[both], given[judged & ~both]
    lam = _tuned(y, f, g)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    plain = _interval(_mean(y), _variance(y) / len(y), z if len(y) > 1 else math.nan)
    powered = plain
    if lam:
        rectifier = y - lam * f
        variance = lam * lam * _variance(g) / len(g) + _variance(rectifier) / len(y)
        powered = _interval(lam * _mean(g) + _mean(rectifier), variance, z)
    return PoweredMean(
        powered=powered,
        plain=plain,
        judge_mean=_mean(given[judged]),
        lam=lam,
        lam_over_all=lam * (len(y) + len(g)) / len(g) if lam else 0.0,
        n_labelled=len(y),
        n_judged=int(judged.sum()),
        n_no_score=int((labelled & ~judged).sum()),
        confidence=confidence,
    )


def _tuned(y: Floats, f: Floats, g: Floats) -> float:
    """The λ that minimises the variance."""
    n, more = len(y), len(g)
    every = np.append(f, g)
    spread = _variance(every)
    if n < 2 or more == 0 or spread == 0:
        return 0.0
    together = math.fsum((y - _mean(y)) * (f - _mean(f))) / n
    return min(max(together / ((1 + n / more) * spread * len(every) / (len(every) - 1)), 0.0), 1.0)


def _mean(values: Floats) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Floats) -> float:
    return math.fsum((values - _mean(values)) ** 2) / len(values)


def _interval(value: float, variance: float, z: float) -> Estimate:
    margin = z * math.sqrt(variance)
    return Estimate(value, value - margin, value + margin)
