"""How good a fitted score is on groups that its fits have not seen, beside the single metrics and naive overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.fitting.design import within_reach
from fastmetrics.fitting.folds import folds_of, part_of_groups
from fastmetrics.fitting.held_out_figures import (
    CalibrationBin,
    FoldRanking,
    calibration_curve,
    calibration_error,
    error_difference,
    printed,
    ranking,
    ranking_difference,
    ranking_estimate,
    squared_error,
)
from fastmetrics.fitting.labelled_rows import FOLDS, LabelledRows, filled
from fastmetrics.fitting.nested_fit import CalibratedScore, cross_calibrated, fit_nested
from fastmetrics.metrics.fitted_file import RowScores
from fastmetrics.stats.estimates import Estimate

_PARTS = (0.25, 0.5)
"""The shares of the training groups on the learning curve, besides all."""
_LITTLE = 0.01
"""A gain of the ranking figure below which more labels are not worth their cost."""


@dataclass(frozen=True)
class SingleScore:
    """A metric alone, on the same rows: its ranking and squared error, and what the fitted score gains on both."""

    name: str
    reversed: bool
    """Whether its low values go with high labels."""
    ranking: Estimate
    gain: Estimate
    error: Estimate
    error_gain: Estimate


@dataclass(frozen=True)
class LearningPoint:
    """The ranking figure of fits to a part of the labels."""

    rows: int
    ranking: Estimate


@dataclass(frozen=True)
class Evaluation:
    """The held-out figures of a fitted score."""

    measure: str
    """``auc``, or ``spearman`` for labels that are no classes."""
    confidence: float
    folds: int
    ranking: Estimate
    error: Estimate
    """Brier's score, or the mean squared error."""
    calibration_error: Estimate
    curve: Sequence[CalibrationBin]
    singles: Sequence[SingleScore]
    naive: str | None
    """The name of naive overlap among the single scores."""
    learning: Sequence[LearningPoint]
    learning_gain: Estimate | None
    """What the second half of the labels added to the ranking figure."""
    importance: Mapping[str, Estimate]
    """What the ranking figure loses when the values of a score are exchanged between rows, by score."""

    @property
    def best(self) -> SingleScore:
        """The single metric with the best ranking; naive overlap is none of the metrics."""
        return max(
            (single for single in self.singles if single.name != self.naive), key=lambda single: single.ranking.value
        )

    @property
    def beats_best(self) -> bool:
        """Whether the fitted score ranks better than the best single metric, beyond chance."""
        return bool(self.best.gain.low > 0)

    @property
    def learning_verdict(self) -> str:
        """Whether more labels would help."""
        gain = self.learning_gain
        if gain is None:
            return ""
        change = f"the second half of them added {printed(gain)}"
        if gain.low > 0:
            return f"more labels would help: {change}"
        if gain.high < _LITTLE:
            return f"more labels would not help: {change}"
        return f"whether more labels would help is not clear: {change}"

    def to_store(self) -> dict[str, Any]:
        """The figures as nested dictionaries of plain values, for the file of the score."""
        figures = {name: asdict(getattr(self, name)) for name in ("ranking", "error", "calibration_error")}
        return {
            "measure": self.measure,
            "confidence": self.confidence,
            "folds": self.folds,
            "best_single": self.best.name,
            "beats_best_single": self.beats_best,
            "learning_verdict": self.learning_verdict,
            **figures,
            "curve": [asdict(part) for part in self.curve],
            "singles": [asdict(single) for single in self.singles],
            "learning": [asdict(point) for point in self.learning],
            "importance": [{"name": name, **asdict(loss)} for name, loss in self.importance.items()],
        }


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The fits of the folds, and the score of each row by the fit that has not seen its fold."""

    folds: Ints
    fits: Sequence[CalibratedScore]
    scores: Floats


def held_out(
    rows: LabelledRows, learner: str, bounds: tuple[float, float], seed: int, folds: Ints, share: float = 1.0
) -> HeldOut:
    """Fit without each fold in turn, to a share of the other groups."""
    scores, fits = np.empty(len(rows)), []
    for fold in range(FOLDS):
        inside = folds == fold
        training = rows.take(~inside)
        if share < 1:
            training = training.take(part_of_groups(training.labels, training.groups, share, seed + 1))
        fits.append(fit_nested(training, learner, bounds, seed))
        scores[inside] = fits[-1].score(rows.take(inside).values)
    return HeldOut(folds, fits, scores)


def evaluate(
    rows: LabelledRows,
    learner: str,
    bounds: tuple[float, float],
    naive: tuple[str, RowScores] | None,
    *,
    confidence: float = 0.95,
    seed: int = 0,
    curves: bool = True,
) -> tuple[Evaluation, HeldOut]:
    """The held-out figures of a learner; ``curves`` adds the learning curve and the importances."""
    folds = folds_of(rows.labels, rows.groups, FOLDS, seed)
    out_of_fold = held_out(rows, learner, bounds, seed, folds)
    figure = ranking(out_of_fold.scores, rows, folds)
    points, gain = _learning(rows, learner, bounds, out_of_fold, figure, confidence, seed) if curves else ([], None)
    curve = partial(calibration_curve, out_of_fold.scores, rows, bounds)
    scores = {**rows.scores, **({} if naive is None else {naive[0]: naive[1]})}
    evaluation = Evaluation(
        measure="auc" if rows.is_binary else "spearman",
        confidence=confidence,
        folds=FOLDS,
        ranking=ranking_estimate(figure, rows, confidence, fitted=True),
        error=squared_error(out_of_fold.scores, rows, bounds, confidence),
        calibration_error=calibration_error(curve, confidence),
        curve=curve(confidence),
        singles=[
            _single(name, filled(*values), rows, out_of_fold, figure, bounds, confidence)
            for name, values in scores.items()
        ],
        naive=None if naive is None else naive[0],
        learning=points,
        learning_gain=gain,
        importance=_importance(rows, out_of_fold, figure, confidence, seed) if curves else {},
    )
    return evaluation, out_of_fold


def _single(
    name: str,
    values: Floats,
    rows: LabelledRows,
    out_of_fold: HeldOut,
    fitted: FoldRanking,
    bounds: tuple[float, float],
    confidence: float,
) -> SingleScore:
    """A metric alone, in the direction that fits the labels; its squared error is that of a calibration by the others.

    The direction is read off the same rows, which favours the single metric.
    """
    alone, low = ranking_alone(values, rows, out_of_fold.folds)
    signed = within_reach(-values if low else values)
    scores = np.clip(
        cross_calibrated(signed, rows.labels, out_of_fold.folds, "platt" if rows.is_binary else "line"), *bounds
    )
    return SingleScore(
        name,
        low,
        ranking_estimate(alone, rows, confidence, fitted=False),
        ranking_difference(fitted, alone, rows, confidence),
        squared_error(scores, rows, bounds, confidence),
        error_difference(out_of_fold.scores, scores, rows, confidence),
    )


def ranking_alone(values: Floats, rows: LabelledRows, folds: Ints) -> tuple[FoldRanking, bool]:
    """How a metric ranks the labels in the direction that fits them, and whether this is from high to low values."""
    alone = ranking(values, rows, folds)
    return (alone.reversed(), True) if alone.value < 0 else (alone, False)


def _learning(
    rows: LabelledRows,
    learner: str,
    bounds: tuple[float, float],
    out_of_fold: HeldOut,
    figure: FoldRanking,
    confidence: float,
    seed: int,
) -> tuple[list[LearningPoint], Estimate]:
    """The learning curve, and what the second half of the labels added."""
    points, figures = [], []
    for share in _PARTS:
        part = held_out(rows, learner, bounds, seed, out_of_fold.folds, share)
        figures.append(ranking(part.scores, rows, out_of_fold.folds))
        n = round(share * len(rows) * (FOLDS - 1) / FOLDS)
        points.append(LearningPoint(n, ranking_estimate(figures[-1], rows, confidence, fitted=True)))
    whole = LearningPoint(
        round(len(rows) * (FOLDS - 1) / FOLDS), ranking_estimate(figure, rows, confidence, fitted=True)
    )
    return [*points, whole], ranking_difference(figure, figures[-1], rows, confidence)


def _importance(
    rows: LabelledRows, out_of_fold: HeldOut, figure: FoldRanking, confidence: float, seed: int
) -> dict[str, Estimate]:
    """What is lost when one score's values change places within each fold."""
    losses = {}
    parts = [rows.take(out_of_fold.folds == fold).values for fold in range(len(out_of_fold.fits))]
    for place, name in enumerate(rows.scores):
        scores = np.empty(len(rows))
        for fold, (fit, part) in enumerate(zip(out_of_fold.fits, parts, strict=True)):
            values, present = part[place]
            order = np.random.default_rng([seed, place, fold]).permutation(len(values))
            exchanged = [*part[:place], (values[order], present[order]), *part[place + 1 :]]
            scores[out_of_fold.folds == fold] = fit.score(exchanged)
        losses[name] = ranking_difference(figure, ranking(scores, rows, out_of_fold.folds), rows, confidence)
    return dict(sorted(losses.items(), key=lambda item: -item[1].value))
