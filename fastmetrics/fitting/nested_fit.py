"""Fitting with settings and a calibration that are chosen on rows held out inside the rows at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.fitting.folds import folds_of, part_of_groups
from fastmetrics.fitting.labelled_rows import LabelledRows
from fastmetrics.fitting.learners import SETTINGS, Learned, Setting, learn, log_odds, quiet
from fastmetrics.metrics.fitted_file import Calibration, RowScores

INNER_FOLDS = 3
MOST_ROWS = 10_000
"""The settings and the calibration are chosen on at most about this many rows."""
_LEAST_ISOTONIC = 500
"""Isotonic regression is tried from this many rows on; on fewer it follows noise."""
_LEAST_SLOPE = 0.01
_WEAK_PENALTY = 100.0


@dataclass(frozen=True, eq=False)
class CalibratedScore:
    """A learned sum and its calibration, with the settings that were chosen."""

    learned: Learned
    calibration: Calibration
    setting: Setting
    bounds: tuple[float, float]

    def score(self, scores: Sequence[RowScores]) -> Floats:
        """The scores of rows."""
        values = self.learned.sums(scores)
        self.calibration.apply(values)
        return np.clip(values, *self.bounds)


def fit_nested(rows: LabelledRows, learner: str, bounds: tuple[float, float], seed: int) -> CalibratedScore:
    """Choose the settings, calibrate, and fit to all rows."""
    part = rows
    if len(rows) > 1.5 * MOST_ROWS:
        part = rows.take(part_of_groups(rows.labels, rows.groups, MOST_ROWS / len(rows), seed))
    groups = part.groups if part.n_groups > 1 else np.arange(len(part))  # a large group can be all of a part
    folds = folds_of(part.labels, groups, INNER_FOLDS, seed)
    settings = SETTINGS[learner]  # where there is one, its held-out sums are still needed for the calibration
    sums = _held_out_sums(part, folds, learner, settings, seed)
    losses = [_loss(values, part) for values in sums]
    chosen = int(np.argmin(losses))
    calibration = calibrated(sums[chosen], part.labels, folds, is_binary=rows.is_binary)
    final = learn(rows, learner, [settings[chosen]], seed)[0]
    return CalibratedScore(final, calibration, settings[chosen], bounds)


def _held_out_sums(
    rows: LabelledRows, folds: Ints, learner: str, settings: Sequence[Setting], seed: int
) -> list[Floats]:
    """For each setting, the sum of each row by a model that was fitted without its fold."""
    sums = [np.empty(len(rows)) for _ in settings]
    for fold in range(INNER_FOLDS):
        inside = folds == fold
        held_out = rows.take(inside).values
        for place, learned in enumerate(learn(rows.take(~inside), learner, settings, seed)):
            sums[place][inside] = learned.sums(held_out)
    return sums


def _loss(sums: Floats, rows: LabelledRows) -> float:
    """The mean squared error of held-out sums, which for classes are log-odds."""
    scores = sums.copy()
    Calibration("platt" if rows.is_binary else "line").apply(scores)
    return float(np.mean((scores - rows.labels) ** 2))


def calibrated(sums: Floats, labels: Floats, folds: Ints, *, is_binary: bool) -> Calibration:
    """The calibration with the lower squared error on folds held out, fitted to all of these sums."""
    plain = "platt" if is_binary else "line"
    if len(sums) < _LEAST_ISOTONIC:
        return _calibration(sums, labels, plain)
    kinds = plain, "isotonic"
    errors = [float(np.mean((cross_calibrated(sums, labels, folds, kind) - labels) ** 2)) for kind in kinds]
    return _calibration(sums, labels, kinds[int(np.argmin(errors))])


def cross_calibrated(sums: Floats, labels: Floats, folds: Ints, kind: str) -> Floats:
    """The sums of each fold as scores, calibrated on the other folds."""
    scores = sums.copy()
    for fold in np.unique(folds):
        inside = folds == fold
        part = sums[inside]
        _calibration(sums[~inside], labels[~inside], kind).apply(part)
        scores[inside] = part
    return scores


def _calibration(sums: Floats, labels: Floats, kind: str) -> Calibration:
    if kind == "isotonic":
        return _isotonic(sums, labels)
    centre, spread = float(sums.mean()), float(sums.std()) or 1.0
    standard = (sums - centre) / spread
    if kind == "platt":
        return _platt(standard, labels, centre, spread)
    slope = max(float(np.mean(standard * (labels - labels.mean()))) / spread, _LEAST_SLOPE)
    return Calibration("line", slope, float(labels.mean()) - slope * centre)


def _platt(standard: Floats, labels: Floats, centre: float, spread: float) -> Calibration:
    """Logistic regression on the sums; one that would turn their order around, or of one class, is nearly level."""
    from sklearn.linear_model import LogisticRegression

    model: Any = LogisticRegression(C=_WEAK_PENALTY, solver="newton-cholesky")
    slope, offset = 0.0, 0.0
    if labels.min() < labels.max():
        with quiet():
            model.fit(standard[:, None], labels)
        slope, offset = float(model.coef_[0, 0]), float(model.intercept_[0])
    if slope < _LEAST_SLOPE:
        slope, offset = _LEAST_SLOPE, log_odds(labels)
    return Calibration("platt", slope / spread, offset - slope * centre / spread)


def _isotonic(sums: Floats, labels: Floats) -> Calibration:
    """Isotonic regression, whose points are joined by lines."""
    from sklearn.isotonic import IsotonicRegression

    model: Any = IsotonicRegression(out_of_bounds="clip").fit(sums, labels)
    knots, first = np.unique(np.asarray(model.X_thresholds_, np.float64), return_index=True)
    return Calibration("isotonic", knots=knots, heights=np.asarray(model.y_thresholds_, np.float64)[first])
