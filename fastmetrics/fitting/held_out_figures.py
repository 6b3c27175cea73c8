"""Figures on rows that a fit has not seen, each with an interval that holds for few rows too.

A figure of ranks is that within each held-out fold, averaged: scores of different folds come from different fits and
do not compare.  The fits of two folds share rows, so that their figures are dependent.  For labels that are pure noise
this doubles the variance of their mean: with S_k the sum of label times scores over fold k, the figure of fold k is
proportional to S_k · Σ_{j≠k} S_j, so that each product S_j · S_k counts in two folds.  The intervals of fitted scores
therefore have twice the variance of held-out rows; where the labels follow the scores this is more than needed.
They are those of Student's t for the arcsine of the figure, which stabilises the variance of a share such as AUC: with
twice the variance, intervals on Fisher's scale are too wide for few rows (98 % instead of 95 % for 50).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.fitting.labelled_rows import LabelledRows
from fastmetrics.stats.agreement import auc_influence, figure_interval, spearman_influence
from fastmetrics.stats.estimates import UNDEFINED, Estimate, Interval, Sample
from fastmetrics.stats.mean_interval import level_note, mean_interval, unseen

_WIDER = math.sqrt(2.0)
_FEWEST_IN_BIN, _MOST_BINS = 50, 10


@dataclass(frozen=True, eq=False)
class FoldRanking:
    """How scores rank labels within folds: 2·AUC − 1 or Spearman's correlation, and the influence of each row."""

    value: float
    influence: Floats
    is_binary: bool

    def shown(self, scaled: float) -> float:
        """A figure as it is printed: AUC, or the correlation."""
        return (1 + scaled) / 2 if self.is_binary else scaled

    def reversed(self) -> FoldRanking:
        """The figure of the scores in the other order."""
        return FoldRanking(-self.value, -self.influence, self.is_binary)


def ranking(scores: Floats, rows: LabelledRows, folds: Ints) -> FoldRanking:
    """The mean figure of the folds, weighted by their pairs of classes, or by their rows."""
    n = len(rows)
    influence, value = np.zeros(n), 0.0
    weights = np.array([_weight(rows.labels[folds == fold], is_binary=rows.is_binary) for fold in np.unique(folds)])
    for fold, weight in zip(np.unique(folds), weights / weights.sum(), strict=True):
        inside = folds == fold
        if not weight:
            continue
        figure, own = _figure(scores[inside], rows.labels[inside], is_binary=rows.is_binary)
        value += weight * figure
        influence[inside] = weight * own * (n / inside.sum())
    return FoldRanking(value, influence, rows.is_binary)


def _weight(labels: Floats, *, is_binary: bool) -> float:
    if is_binary:
        return float(labels.sum() * (len(labels) - labels.sum()))
    return float(len(labels)) if len(np.unique(labels)) > 1 else 0.0


def _figure(scores: Floats, labels: Floats, *, is_binary: bool) -> tuple[float, Floats]:
    """2·AUC − 1 or Spearman's correlation, and the influences; 0 for scores without spread."""
    from scipy.stats import rankdata

    ranks = rankdata(scores)
    if is_binary:
        good = labels > 0
        positives = int(good.sum())
        auc = float((ranks[good].sum() - positives * (positives + 1) / 2) / (positives * (len(labels) - positives)))
        return 2 * auc - 1, auc_influence(ranks, good, auc)
    if ranks.std() == 0:
        return 0.0, np.zeros(len(labels))
    rho = float(np.corrcoef(ranks, rankdata(labels))[0, 1])
    return rho, spearman_influence(ranks, labels, rho)


def printed(estimate: Estimate) -> str:
    """A figure with its interval; a dash where there is none."""
    if math.isnan(estimate.low):
        return f"{estimate.value:.3f} –"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def ranking_estimate(figure: FoldRanking, rows: LabelledRows, confidence: float, *, fitted: bool) -> Estimate:
    """AUC or correlation with its interval, wider for a fitted score."""
    interval_of = _fitted_interval if fitted else figure_interval
    interval = interval_of(figure.value, figure.influence, rows.clusters, confidence)
    if interval is None:
        count = rows.n_groups if rows.has_groups else len(rows)
        reach = 2 * unseen(confidence, max(count // 2, 1))
        low, high = max(figure.value - reach, -1.0), min(figure.value + reach, 1.0)
        interval = Interval(
            low, high, "worst_case", "rather too wide than too narrow: no row of these changes the figure"
        )
    low, high = figure.shown(interval.low), figure.shown(interval.high)
    return Estimate(figure.shown(figure.value), low, high, interval.kind, interval.note)


def _fitted_interval(value: float, influence: Floats, clusters: Ints | None, confidence: float) -> Interval | None:
    """The interval of a fitted score's figure between −1 and 1, with twice the variance; None if it has no spread."""
    from scipy.special import stdtrit

    spread = Sample.of(influence, clusters).spread
    slope = 1 - value * value
    if slope < 1e-12 or not spread.error > 1e-9:
        return None
    reach = float(stdtrit(spread.freedom, (1 + confidence) / 2)) * _WIDER * spread.error / math.sqrt(slope)
    low, high = max(math.asin(value) - reach, -math.pi / 2), min(math.asin(value) + reach, math.pi / 2)
    note = level_note("skew_t", spread.freedom, spread.count, clustered=clusters is not None)
    return Interval(math.sin(low), math.sin(high), "t", note)


def ranking_difference(first: FoldRanking, other: FoldRanking, rows: LabelledRows, confidence: float) -> Estimate:
    """How much better a fitted score ranks than ``other``, on the same rows; only the fitted one counts twice."""
    from scipy.special import stdtrit

    half = 0.5 if first.is_binary else 1.0
    difference = half * (first.value - other.value)
    paired = Sample.of(half * (first.influence - other.influence), rows.clusters).spread
    alone = Sample.of(half * first.influence, rows.clusters).spread
    error = math.hypot(paired.error, alone.error)
    if not error > 0:
        return Estimate(difference, math.nan, math.nan, "none", "no interval: no row changes either figure")
    reach = float(stdtrit(paired.freedom, (1 + confidence) / 2)) * error
    return Estimate(difference, difference - reach, difference + reach, "t")


def squared_error(scores: Floats, rows: LabelledRows, bounds: tuple[float, float], confidence: float) -> Estimate:
    """The mean squared error of scores, which for classes is Brier's score."""
    losses = (scores - rows.labels) ** 2
    most = (bounds[1] - bounds[0]) ** 2
    return _mean(losses, rows, (0.0, most), confidence)


def error_difference(scores: Floats, other: Floats, rows: LabelledRows, confidence: float) -> Estimate:
    """How much lower the squared error of scores is than that of other scores of the same rows."""
    gains = (other - rows.labels) ** 2 - (scores - rows.labels) ** 2
    return _mean(gains, rows, None, confidence)


def _mean(values: Floats, rows: LabelledRows, bounds: tuple[float, float] | None, confidence: float) -> Estimate:
    """A mean with an interval of twice the variance."""
    mean = float(values.mean())
    interval = mean_interval(Sample.of(values, rows.clusters, bounds), confidence)
    low, high = mean - _WIDER * (mean - interval.low), mean + _WIDER * (interval.high - mean)
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return Estimate.of(mean, Interval(low, high, interval.kind, interval.note))


@dataclass(frozen=True)
class CalibrationBin:
    """A part of the curve of calibration: rows of similar scores, their mean score and their mean label."""

    n: int
    score: float
    label: float
    low: float
    high: float


def calibration_curve(
    scores: Floats, rows: LabelledRows, bounds: tuple[float, float], confidence: float
) -> list[CalibrationBin]:
    """The mean labels of rows in the order of their scores, in bins of about as many rows, each with its interval."""
    n_bins = int(np.clip(len(rows) // _FEWEST_IN_BIN, 2, _MOST_BINS))
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, n_bins + 1)[1:-1]))
    numbers = np.searchsorted(edges, scores, side="left")
    bins = []
    for of_bin in np.unique(numbers):
        inside = numbers == of_bin
        clusters = None if rows.clusters is None else rows.clusters[inside]
        labels = rows.labels[inside]
        interval = mean_interval(Sample.of(labels, clusters, bounds), confidence)
        bins.append(
            CalibrationBin(
                int(inside.sum()), float(scores[inside].mean()), float(labels.mean()), interval.low, interval.high
            )
        )
    return bins


def calibration_error(curve: Callable[[float], list[CalibrationBin]], confidence: float) -> Estimate:
    """The mean distance of score and label over the bins of a curve, by number of rows.

    Its interval takes all bins at their ends at once, each at a level that makes all of them hold together
    (Bonferroni), and so holds at least its level.
    """
    bins = curve(confidence)
    together = curve(1 - (1 - confidence) / len(bins))
    sizes = np.array([part.n for part in bins], np.float64)
    shares = sizes / sizes.sum()
    value = float(shares @ np.array([abs(part.score - part.label) for part in bins]))
    nearest = [max(part.low - part.score, part.score - part.high, 0.0) for part in together]
    farthest = [max(abs(part.low - part.score), abs(part.high - part.score)) for part in together]
    if np.isnan(nearest).any() or np.isnan(farthest).any():
        return (
            Estimate(value, math.nan, math.nan, "none", "no interval: too few groups in a bin") if bins else UNDEFINED
        )
    return Estimate(
        value, float(shares @ nearest), float(shares @ farthest), "exact", "rather too wide than too narrow"
    )
