"""The models of scikit-learn that are fitted: logistic regression, and ridge regression for grades."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.fitting.labelled_rows import LabelledRows, part_of_groups, within_reach
from fastmetrics.metrics.fitted_file import Curve, RowScores, summed_curves

INNER_FOLDS = 3
MOST_ROWS = 10_000
"""The strength of the penalty is chosen on at most about this many rows."""
STRENGTHS = (0.001, 0.01, 0.1, 1.0)
"""The inverses of the penalty of which one is chosen, by the squared error on inner folds of groups."""
_ENDS = (0.02, 0.98)
"""The quantiles of a score between which its line rises or falls."""


@dataclass(frozen=True, eq=False)
class FittedScore:
    """A sum of curves over scores, which is the log-odds of a positive label if ``is_binary``."""

    curves: Sequence[Curve]
    intercept: float
    is_binary: bool
    bounds: tuple[float, float]
    strength: float

    def score(self, scores: Sequence[RowScores]) -> Floats:
        """The scores of rows, added up as in the evaluation of the file."""
        return summed_curves(self.curves, scores, self.intercept, self.bounds, logistic_link=self.is_binary)


@contextmanager
def quiet() -> Iterator[None]:
    """Fit without warnings of convergence, as held-out rows show what coefficients are worth, and without checks."""
    import sklearn

    with catch_warnings(), sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        simplefilter("ignore")
        yield


def fit_score(rows: LabelledRows, seed: int) -> FittedScore:
    """Choose the penalty on inner folds, and fit to all rows; labels of one class have only their share."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import GridSearchCV
    from sklearn.preprocessing import StandardScaler

    labels = rows.labels
    level = [Curve(np.zeros(1), np.zeros(1), 0.0, 0.0)] * len(rows.scores)
    if labels.min() == labels.max():
        return FittedScore(level, _mean_link(labels, is_binary=rows.is_binary), rows.is_binary, rows.bounds, 0.0)
    ends = [_ends(scores) for scores in rows.values]
    raw = np.concatenate([_columns(*each) for each in zip(rows.values, ends, strict=True)], axis=1)
    with quiet():
        scaler = StandardScaler().fit(raw)
        columns = scaler.transform(raw)
        model: Any = LogisticRegression() if rows.is_binary else Ridge()
        spread = 1.0 if rows.is_binary else float(labels.std())
        grid = {"C": STRENGTHS} if rows.is_binary else {"alpha": [1 / strength for strength in STRENGTHS]}
        folds = _inner_folds(rows, seed)
        targets = labels / spread
        if folds:
            model = GridSearchCV(model, grid, scoring=_gain, cv=folds, refit=False).fit(columns, targets)
            model = (LogisticRegression if rows.is_binary else Ridge)(**model.best_params_)
        model.fit(columns, targets)
    slopes = (np.ravel(model.coef_) * spread / scaler.scale_).reshape(-1, 3)
    means = scaler.mean_.reshape(-1, 3)
    curves = []
    for knots, slope, mean in zip(ends, slopes, means, strict=True):
        level_of = -float(slope[1:] @ mean[1:])
        heights = slope[0] * (knots - mean[0]) + level_of
        curves.append(Curve(knots, heights, level_of + float(slope[1]), level_of + float(slope[2])))
    strength = model.C if rows.is_binary else 1 / model.alpha
    return FittedScore(curves, float(np.ravel(model.intercept_)[0]) * spread, rows.is_binary, rows.bounds, strength)


def _mean_link(labels: Floats, *, is_binary: bool) -> float:
    """The label of all rows; of classes its log-odds, with half a row of the other class."""
    share = (labels.sum() + 0.5) / (len(labels) + 1)
    return float(np.log(share / (1 - share))) if is_binary else float(labels[0])


def _ends(scores: RowScores) -> Floats:
    """The outer quantiles of a score."""
    values, present = scores
    numbers = within_reach(values[present & ~np.isnan(values)])
    if not len(numbers):
        return np.zeros(1)
    ends = np.unique(np.quantile(numbers, _ENDS))
    return ends if len(ends) > 1 else np.unique([numbers.min(), numbers.max()])


def _columns(scores: RowScores, ends: Floats) -> Floats:
    """A score within its ends, where there is none their mean, and flags of missing and undefined ones."""
    values, present = scores
    undefined = present & np.isnan(values)
    line = np.clip(within_reach(values), ends[0], ends[-1])
    known = present & ~undefined
    middle = line[known].mean() if known.any() else 0.0
    return np.stack([np.where(known, line, middle), ~present, undefined], axis=1)


def _inner_folds(rows: LabelledRows, seed: int) -> list[tuple[Ints, Ints]]:
    """Folds of groups inside the rows at hand, without those that would be fitted to one class."""
    from sklearn.model_selection import GroupKFold

    every = np.arange(len(rows))
    if len(rows) > 1.5 * MOST_ROWS:
        every = part_of_groups(rows.groups, MOST_ROWS / len(rows), seed)
    groups = rows.groups[every]
    if len(np.unique(groups)) < INNER_FOLDS:
        groups = every  # a large group can be all of a part
    folds = GroupKFold(INNER_FOLDS, shuffle=True, random_state=seed).split(every, groups=groups)
    pairs = [(every[fitted], every[tested]) for fitted, tested in folds]
    return [pair for pair in pairs if len(np.unique(rows.labels[pair[0]])) > 1]


def _gain(model: Any, columns: Floats, labels: Floats) -> float:
    """The squared error of predictions, below 0."""
    is_binary = hasattr(model, "predict_proba")
    values = model.predict_proba(columns)[:, 1] if is_binary else model.predict(columns)
    return -float(np.mean((values - labels) ** 2))


def cross_fitted(values: Floats, rows: LabelledRows, folds: Ints) -> Floats:
    """A single score in the units of the labels, for each fold by a line that is fitted to the others."""
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.model_selection import PredefinedSplit, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(C=100.0) if rows.is_binary else LinearRegression())
    method = "predict_proba" if rows.is_binary else "predict"
    column = within_reach(values)[:, None]
    with quiet():
        found = cross_val_predict(model, column, rows.labels, cv=PredefinedSplit(folds), method=method)
    return found[:, 1] if rows.is_binary else found
