"""Prediction-powered inference: the mean of human labels over all judged rows, from few labelled rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats
from fastmetrics.base.display import Grid, Shown, number
from fastmetrics.base.errors import InputError
from fastmetrics.base.notes import Figure, Note, interval_notes, mark_of, said
from fastmetrics.base.options import Choice, Real, argument
from fastmetrics.stats.estimates import Estimate, Sample, Spread
from fastmetrics.stats.mean_interval import level_note, mean_interval, spread_interval

_FEW_OF_A_KIND = 10
"""With fewer labels of 0 or of 1, the interval is conservative."""


@dataclass(frozen=True)
class PoweredMean(Shown):
    """The mean of human labels: from labels and judge together, from the labels alone, and from the judge alone."""

    powered: Estimate
    """The prediction-powered mean and its interval."""
    plain: Estimate
    """The mean of the labels alone and its interval."""
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
    n_not_judged: int = 0
    """Labels whose row is not among the judged rows, which are not used."""

    def grids(self) -> Sequence[Grid]:
        """The three means."""
        rows = [("prediction-powered", *_cells(self.powered), number(self.n_judged))]
        rows += [("labels alone", *_cells(self.plain), number(self.n_labelled))]
        rows += [("judge alone", number(self.judge_mean), "", "", number(self.n_judged))]
        return [Grid(("mean", "value", "low", "high", "rows"), rows)]

    def remarks(self) -> Sequence[str]:
        """The value of lambda, and the conditions of validity."""
        return said(
            Note("lambda", value=number(self.lam)),
            interval_notes(self.record(), self.confidence),
            self.n_no_score and Note("labelled_no_score", n=self.n_no_score),
            self.n_not_judged and Note("not_judged", n=self.n_not_judged),
            Note("random_sample"),
        )

    def record(self) -> Sequence[Figure]:
        """The mean by labels and judge, and by the labels alone."""
        means = (("prediction-powered", self.powered, self.n_judged), ("labels alone", self.plain, self.n_labelled))
        return [Figure.of(name, mean, n=n) for name, mean, n in means]


def _cells(estimate: Estimate) -> tuple[str, str, str]:
    mark = mark_of(estimate.note)
    return number(estimate.value), number(estimate.low) + mark, number(estimate.high) + mark


def powered_mean(scores: Any, labels: Any, confidence: float = 0.95, interval: str = "auto") -> PoweredMean:
    """The mean of a label over all judged rows, of which few are labelled; NaN is no score or no label.

    With the labels Y and scores F of the n labelled rows and the scores G of the N others, θ = λ·mean(G) + mean(Y −
    λ·F) and s² = λ²·var(G)/N + var(Y − λ·F)/n.  λ is the plug-in that makes s² least, cov(Y, F) / ((1 + n/N)·var(F and
    G)), clipped to 0 … 1; variances are divided by the number of rows but that of F and G together, by one less, as in
    the package ``ppi-python``.  With λ' = λ·(n + N)/N (``lam_over_all``) the same θ is λ'·mean(score over all rows) +
    mean(Y − λ'·F).

    λ is 0, and only the labels are used, if all scores are equal, all rows are labelled, or only one row is.  One label
    that is not 0 or 1 has no interval: NaN.

    The interval θ ± z·s of PPI++ (``interval="normal"``) is too narrow for few labels.  By default it is Student's t,
    widened for skewness, with the variance of the values of θ without each label (the jackknife, which includes the
    choice of λ) and degrees of freedom by Welch and Satterthwaite.  For labels of 0 and 1, half a row at each end of
    the range of Y − λ·F is added, as in the interval of Bonett and Price 2012.  If no label changes θ, the interval is
    that of the labels alone, which is :func:`fastmetrics.stats.mean_interval.mean_interval`.

    The order of the rows does not change the result.  Source: Angelopoulos, Duchi and Zrnic 2023, PPI++.

    >>> found = powered_mean([1, 2, 3, 4, 5, 5, 4, 5], [1, 2, 3, 5, float("nan"), float("nan"), float("nan"), None])
    >>> round(found.plain.value, 3), round(found.powered.value, 3), round(found.lam, 3)
    (2.75, 3.556, 0.358)

    Raises ``InputError`` for columns of different length, an infinite label or score, or no row with both.
    """
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    argument("interval", interval, Choice("auto", "normal"))
    values, truth = np.asarray(scores, np.float64), np.asarray(labels, np.float64)
    if values.shape != truth.shape or values.ndim != 1:
        raise InputError(f"expected scores and labels of equal length, got shapes {values.shape} and {truth.shape}")
    for what, numbers in (("score", values), ("label", truth)):
        if np.isinf(numbers).any():
            raise InputError(f"row {int(np.isinf(numbers).argmax())}: expected a finite {what}")
    judged, labelled = ~np.isnan(values), ~np.isnan(truth)
    both = judged & labelled
    if not both.any():
        raise InputError(
            f"no row has both a score and a label: {judged.sum():,} have a score, {labelled.sum():,} a label"
        )
    y, f, g = truth[both], values[both], values[judged & ~both]
    lam = _tuned(y, f, g)
    if interval == "normal":
        error = math.sqrt(_variance(y) / len(y)) if len(y) > 1 else math.nan
        plain = powered = _normal(_mean(y), error, confidence)
        if lam:
            rectifier = y - lam * f
            error = math.sqrt(lam * lam * _variance(g) / len(g) + _variance(rectifier) / len(y))
            powered = _normal(lam * _mean(g) + _mean(rectifier), error, confidence)
    else:
        labels_alone = Sample.of(y, None, (0.0, 1.0) if _are_flags(y) else None)
        plain = powered = Estimate.of(labels_alone.mean, mean_interval(labels_alone, confidence))
        if lam:
            powered = _powered(y, f, g, lam, plain, confidence)
    return PoweredMean(
        powered=powered,
        plain=plain,
        judge_mean=_mean(values[judged]),
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


def _normal(value: float, error: float, confidence: float) -> Estimate:
    margin = NormalDist().inv_cdf((1 + confidence) / 2) * error
    if math.isnan(margin):
        return Estimate(value, math.nan, math.nan, "none", Note("one_label"))
    note = Note("normal_of_few")
    return Estimate(value, value - margin, value + margin, "normal", note)


def _are_flags(labels: Floats) -> bool:
    """Whether labels are of two kinds, 0 and 1, which is what people mean by labels of 0 and 1 alone."""
    return bool(np.isin(labels, (0.0, 1.0)).all())


def _powered(y: Floats, f: Floats, g: Floats, lam: float, plain: Estimate, confidence: float) -> Estimate:
    """The prediction-powered mean with an interval for few labels."""
    n, value = len(y), lam * _mean(g) + _mean(y - lam * f)
    judge = Sample.of(g).spread.times(lam) if len(g) > 1 else Spread(0.0, 1.0, 0.0, 3.0, n)
    if _are_flags(y):
        every = np.append(f, g)
        ends = np.array([-lam * every.max(), 1 - lam * every.min()])
        rectifier = y - lam * f
        middle = (math.fsum(rectifier) + math.fsum(ends) / 2) / (n + 1)
        squares, cubes, fourths = (
            math.fsum((rectifier - middle) ** power) + math.fsum((ends - middle) ** power) / 2 for power in (2, 3, 4)
        )
        error = math.sqrt(squares * n / (n - 1)) / (n + 1)
        own = Spread(error, n - 1, cubes / squares**1.5, (n + 1) * fourths / squares**2, n)
        spread = own.plus(judge)
        interval = spread_interval(lam * _mean(g) + middle, spread, confidence)
        few = min(int(y.sum()), n - int(y.sum())) < _FEW_OF_A_KIND
        wide = Note("few_labels_of_a_kind")
        note = wide if few else level_note("adjusted", spread.freedom, n)
        low, high = max(min(interval.low, value), 0.0), min(max(interval.high, value), 1.0)
        return Estimate(value, low, high, "adjusted", note)
    sample = Sample.linearised(value, _without(y, f, g))
    if sample.agree:
        note = Note("labels_alone")
        return Estimate(value, min(plain.low, value), max(plain.high, value), plain.interval, note)
    spread = sample.spread.plus(judge)
    interval = spread_interval(value, spread, confidence)
    note = level_note(interval.kind, sample.spread.freedom, n) or plain.note  # few labels differ, or have no bounds
    return Estimate.of(value, replace(interval, note=note))


def _without(y: Floats, f: Floats, g: Floats) -> Floats:
    """The prediction-powered means without each of the labelled rows."""
    n, more, every = len(y), len(g), np.append(f, g)
    own_y, own_f, from_all = y - _mean(y), f - _mean(f), f - _mean(every)
    together = (math.fsum(own_y * own_f) - own_y * own_f * n / (n - 1)) / (n - 1)
    count = n + more
    squares = _variance(every) * count - from_all**2 * count / (count - 1)
    spread = np.where(squares > 1e-12 * _variance(every) * count, squares, np.inf) / max(count - 2, 1)
    lam = np.clip(together / ((1 + (n - 1) / more) * spread), 0.0, 1.0)
    means: Floats = lam * _mean(g) + _mean(y) - own_y / (n - 1) - lam * (_mean(f) - own_f / (n - 1))
    return means
