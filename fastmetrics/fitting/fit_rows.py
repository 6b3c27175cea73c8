"""Fitting to labelled rows: the evaluation on held-out folds, the final fit, and the cuts on rows kept apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fastmetrics.base.arrays import Ints
from fastmetrics.fitting.evaluation import Evaluation, evaluate
from fastmetrics.fitting.folds import part_of_groups
from fastmetrics.fitting.labelled_rows import LabelledRows
from fastmetrics.fitting.nested_fit import CalibratedScore, fit_nested
from fastmetrics.fitting.promises import Promise, one_of_each, threshold
from fastmetrics.metrics.fitted_file import RowScores, Threshold

_APART = 1 / 3
"""The share of the groups that cuts are tested on."""


@dataclass(frozen=True, eq=False)
class FittedRows:
    """What a fit to labelled rows gives."""

    score: CalibratedScore
    evaluation: Evaluation
    thresholds: Mapping[str, Threshold]
    training: LabelledRows
    n_apart: int


def rows_apart(rows: LabelledRows, seed: int) -> Ints:
    """The rows that cuts are tested on.

    Groups of several rows are drawn at random: to balance their rows would choose them by their labels and sizes, and
    one row of each would be no sample of all groups.
    """
    if not rows.has_groups:
        return part_of_groups(rows.labels, rows.groups, _APART, seed + 2)
    groups = np.unique(rows.groups)
    drawn = np.random.default_rng([seed + 2, len(groups)]).permutation(groups)[: round(_APART * len(groups))]
    return np.flatnonzero(np.isin(rows.groups, drawn))


def fit_rows(
    rows: LabelledRows,
    learner: str,
    *,
    promises: Sequence[Promise] = (),
    naive: tuple[str, RowScores] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    curves: bool = True,
) -> FittedRows:
    """Evaluate, fit to all rows that are not kept apart, and test the cuts on those that are."""
    apart = rows_apart(rows, seed) if promises else np.zeros(0, np.int64)
    fitted: Ints = np.setdiff1d(np.arange(len(rows)), apart)
    training, tested = rows.take(fitted), rows.take(apart)
    beside = None if naive is None else (naive[0], (naive[1][0][fitted], naive[1][1][fitted]))
    bounds = (0.0, 1.0) if rows.is_binary else (float(training.labels.min()), float(training.labels.max()))
    evaluation, out_of_fold = evaluate(
        training, learner, bounds, beside, confidence=confidence, seed=seed, curves=curves
    )
    final = fit_nested(training, learner, bounds, seed)
    thresholds = {}
    if promises:
        chosen = tested.take(one_of_each(tested.groups, seed))
        pairs = (out_of_fold.scores, training.labels > 0), (final.score(chosen.values), chosen.labels > 0)
        thresholds = {promise.name: threshold(promise, *pairs, confidence) for promise in promises}
    return FittedRows(final, evaluation, thresholds, training, len(apart))
