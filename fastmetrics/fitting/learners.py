"""The models of scikit-learn that are fitted, and settings chosen on rows held out inside the rows at hand."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, TypeAlias

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.fitting.labelled_rows import (
    Basis,
    LabelledRows,
    basis_of,
    filled,
    folds_of,
    part_of_groups,
    within_reach,
)
from fastmetrics.metrics.fitted_file import Calibration, Curve, RowScores, Trees, columns_of_trees

# The models of scikit-learn that are fitted, converted to the curves, trees and weights of a fitted score's file.


Setting: TypeAlias = Mapping[str, Any]
"""The options of a learner that an inner cross-validation chooses."""

SETTINGS: Mapping[str, Sequence[Setting]] = {
    "splines": [{"bends": bends, "strength": c} for bends, c in product((False, True), (0.003, 0.05, 0.8))],
    "boosting": [{"leaves": leaves, "rounds": rounds} for leaves, rounds in product((4, 12), (40, 120))],
    "weights": [{}],
}
LEARNERS = tuple(SETTINGS)

_RATE = 0.1
_ITERATIONS = 100
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned: a sum over scores, before calibration."""

    intercept: float
    curves: Sequence[Curve] | None = None
    trees: Trees | None = None
    weights: Sequence[float] | None = None

    def sums(self, scores: Sequence[RowScores]) -> Floats:
        """The sums of rows, added up as in the evaluation of the file."""
        sums = np.full(len(scores[0][0]), self.intercept)
        if self.trees is not None:
            self.trees.add(scores, sums)
        for curve, values in zip(self.curves or (), scores, strict=False):
            curve.add(values, sums)
        return sums


@contextmanager
def quiet() -> Iterator[None]:
    """Fit without warnings of convergence, as held-out rows show what coefficients are worth, and without checks."""
    import sklearn

    with warnings.catch_warnings(), sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        warnings.simplefilter("ignore")
        yield


def learn(rows: LabelledRows, learner: str, settings: Sequence[Setting], seed: int) -> list[Learned]:
    """Fit a model with each of the settings; labels of one class, which scikit-learn refuses, have only their share."""
    if rows.is_binary and rows.labels.min() == rows.labels.max():
        return [Learned(log_odds(rows.labels))] * len(settings)
    with quiet():
        if learner == "boosting":
            return [_boosted(rows, setting, seed) for setting in settings]
        if learner == "weights":
            return [_weighted(rows)] * len(settings)
        designs = {bends: _Design.of(rows, bends=bends) for bends in {setting["bends"] for setting in settings}}
        return [_splines(rows, designs[setting["bends"]], setting["strength"]) for setting in settings]


def log_odds(labels: Floats) -> float:
    """The log-odds of the share of positive labels; labels of one class count half a row of the other."""
    positives, n = float(labels.sum()), len(labels)
    if not 0 < positives < n:
        positives, n = positives + 0.5, n + 1
    return float(np.log(positives / (n - positives)))


@dataclass(frozen=True, eq=False)
class _Design:
    """The columns of a regression over some rows, which fits with different penalties share.

    More columns than rows are turned into as many as there are rows, along ``axes``: the best coefficients under a
    squared penalty lie in the span of the rows, and the time of a fit grows with the cube of the columns.
    """

    bases: Sequence[Basis]
    columns: Floats
    axes: Floats | None

    @classmethod
    def of(cls, rows: LabelledRows, *, bends: bool) -> _Design:
        parts = [basis_of(scores, bends=bends) for scores in rows.values]
        bases, columns = [basis for basis, _ in parts], np.concatenate([columns for _, columns in parts], axis=1)
        if columns.shape[1] <= len(columns):
            return cls(bases, columns, None)
        axes, triangle = np.linalg.qr(columns.T)
        return cls(bases, triangle.T, axes)

    def curves(self, coefficients: Floats) -> list[Curve]:
        """The curve of each score."""
        if self.axes is not None:
            coefficients = self.axes @ coefficients
        ends = np.cumsum([0, *(basis.width for basis in self.bases)])
        parts = [coefficients[start:stop] for start, stop in pairwise(ends.tolist())]
        return [basis.curve(part) for basis, part in zip(self.bases, parts, strict=True)]


def _splines(rows: LabelledRows, design: _Design, strength: float) -> Learned:
    """Logistic or ridge regression over lines and bends."""
    from sklearn.linear_model import LogisticRegression, Ridge

    columns = design.columns
    model: Any
    if not columns.shape[1]:  # no score varies in these rows, which scikit-learn refuses
        coefficients = np.zeros(0)
        intercept = log_odds(rows.labels) if rows.is_binary else float(rows.labels.mean())
    elif rows.is_binary:
        model = LogisticRegression(C=strength, solver="newton-cholesky", max_iter=_ITERATIONS)
        model.fit(columns, rows.labels)
        coefficients, intercept = model.coef_[0], float(model.intercept_[0])
    else:
        spread = max(float(rows.labels.std()), 1e-12)
        model = Ridge(alpha=1 / strength).fit(columns, rows.labels / spread)
        coefficients, intercept = model.coef_ * spread, float(model.intercept_) * spread
    return Learned(intercept, design.curves(coefficients))


def _weighted(rows: LabelledRows) -> Learned:
    """The weighted mean of scores, with weights from 0 that add up to 1, by non-negative least squares."""
    from scipy.optimize import nnls

    columns = np.stack([within_reach(filled(*scores)) for scores in rows.values], axis=1)
    means = columns.mean(axis=0)
    weights, _ = nnls(columns - means, rows.labels - rows.labels.mean())
    total = weights.sum()
    weights = weights / total if total > 0 else np.full(len(weights), 1 / len(weights))
    curves = []
    for weight, column, mean in zip(weights.tolist(), columns.T, means.tolist(), strict=True):
        ends = np.unique([min(column.min(), 0.0), max(column.max(), 1.0)])
        curves.append(Curve(ends, weight * ends, weight * mean, weight * mean))
    return Learned(0.0, curves, weights=weights.tolist())


def _boosted(rows: LabelledRows, setting: Setting, seed: int) -> Learned:
    """Gradient boosting of small trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    columns = columns_of_trees(rows.values).T
    make = HistGradientBoostingClassifier if rows.is_binary else HistGradientBoostingRegressor
    model: Any = make(
        learning_rate=_RATE,
        max_iter=setting["rounds"],
        max_leaf_nodes=setting["leaves"],
        min_samples_leaf=int(np.clip(len(rows) // 20, 5, 20)),
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed,
    )
    model.fit(np.clip(columns, -_LARGEST, _LARGEST), rows.labels)
    baseline = float(np.ravel(model._baseline_prediction)[0])
    return Learned(baseline, trees=_trees([tree[0].nodes for tree in model._predictors]))


def _trees(fitted: Sequence[Any]) -> Trees:
    """The nodes of all trees in one list."""
    nodes: list[Ints] = []
    splits: list[Floats] = []
    roots = []
    start = 0
    for tree in fitted:
        leaf = tree["is_leaf"].astype(bool)
        left, right = (np.where(leaf, 0, tree[side].astype(np.int64) + start) for side in ("left", "right"))
        feature = np.where(leaf, -1, tree["feature_idx"].astype(np.int64))
        nodes.append(np.stack([feature, left, right, tree["missing_go_to_left"].astype(np.int64)], axis=1))
        splits.append(np.where(leaf, tree["value"], np.minimum(tree["num_threshold"], _LARGEST)))
        roots.append(start)
        start += len(tree)
    return Trees(np.concatenate(nodes), np.concatenate(splits), np.array(roots, np.int64))


# Fitting with settings and a calibration that are chosen on rows held out inside the rows at hand.


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
