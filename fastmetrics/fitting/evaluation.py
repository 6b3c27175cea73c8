"""How good a fitted score is on groups that its fits have not seen, and the result of a fit as printed tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from itertools import starmap
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.column_names import listed
from fastmetrics.base.display import Grid, Shown, columns_of, flat, lines_of, plain
from fastmetrics.base.drawing import Curves, Picture, Plotted, label
from fastmetrics.base.notes import Note, said
from fastmetrics.fitting.labelled_rows import (
    FOLDS,
    LabelledRows,
    filled,
    folds_of,
    has_score,
    part_of_groups,
    within_reach,
)
from fastmetrics.fitting.learners import FittedScore, cross_fitted, fit_score
from fastmetrics.metrics.fitted_file import FittedModel, RowScores
from fastmetrics.results.score_columns import directions
from fastmetrics.results.validate import reversal_note
from fastmetrics.stats.estimates import Estimate, Sample, as_share
from fastmetrics.stats.figures import Influence, Pairs
from fastmetrics.stats.mean_interval import mean_interval
from fastmetrics.stats.promises import PROMISE_HEAD, level_of_each, observed_note, promise_cells, promise_note

# Figures on rows that a fit has not seen, each with an interval that holds for few rows too.
#
# A figure of ranks is that within each held-out fold, averaged: scores of different folds come from different fits
# and do not compare.  The fits of two folds share rows, so that their figures are dependent.  For labels that are
# pure noise this doubles the variance of their mean: with S_k the sum of label times scores over fold k, the figure
# of fold k is proportional to S_k · Σ_{j≠k} S_j, so that each product S_j · S_k counts in two folds.  The intervals
# of fitted scores therefore have twice the variance of held-out rows; where the labels follow the scores this is more
# than needed.


_WIDER = math.sqrt(2.0)
_FEWEST_IN_BIN, _MOST_BINS = 50, 10
_PARTS = (0.25, 0.5)
"""The shares of the training groups on the learning curve, besides all."""
_LITTLE = 0.01
"""A gain of the ranking figure below which more labels are not worth their cost."""


@dataclass(frozen=True)
class CalibrationBin:
    """A part of the curve of calibration: rows of similar scores, their mean score and their mean label."""

    n: int
    score: float
    label: float
    low: float
    high: float


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
    scored: int
    """The rows that have the score; in the others it counts as the median of these."""
    ranking_of_scored: float
    """The ranking of the rows that have it, across the folds, as ``validate`` states it."""


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
    calibration_error: float
    """The mean distance of score and label over the parts of the curve, by number of rows."""
    curve: Sequence[CalibrationBin]
    singles: Sequence[SingleScore]
    best_ranking: Estimate
    """The ranking of the best single metric, with an interval that allows for its choice on these rows."""
    naive: str | None
    """The name of naive overlap among the single scores."""
    learning: Sequence[LearningPoint]
    learning_gain: Estimate
    """What the second half of the labels added to the ranking figure."""
    importance: Mapping[str, Estimate]
    """What the ranking figure loses when the values of a score are exchanged between rows, by score."""

    @property
    def best(self) -> SingleScore:
        """The single metric with the best ranking; naive overlap is none of the metrics."""
        return max((one for one in self.singles if one.name != self.naive), key=lambda one: one.ranking.value)

    @property
    def best_beats_chance(self) -> bool:
        """Whether the best single metric ranks better than chance, though it was chosen on these rows."""
        return bool(self.best_ranking.low > (0.5 if self.measure == "auc" else 0.0))

    @property
    def beats_best(self) -> bool:
        """Whether the fitted score ranks better than the best single metric, beyond chance."""
        return bool(self.best.gain.low > 0)

    @property
    def learning_verdict(self) -> str:
        """Whether more labels would help."""
        gain = self.learning_gain
        kind = "more_labels" if gain.low > 0 else "labels_enough" if gain.high < _LITTLE else "labels_unclear"
        return Note(kind, added=printed(gain))

    def to_store(self) -> dict[str, Any]:
        """The figures as nested dictionaries of plain values, for the file of the score."""
        return {
            "best_single": self.best.name,
            "beats_best_single": self.beats_best,
            "learning_verdict": self.learning_verdict,
            **plain(self),
            "importance": [{"name": name, **asdict(loss)} for name, loss in self.importance.items()],
        }


def printed(estimate: Estimate) -> str:
    """A figure with its interval; a dash where there is none."""
    if math.isnan(estimate.low):
        return f"{estimate.value:.3f} –"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


@dataclass(frozen=True, eq=False)
class Ranking:
    """How scores rank labels within folds: 2·AUC − 1 or Spearman's correlation, and the influence of each row."""

    value: float
    influence: Influence

    def upwards(self) -> Ranking:
        """The figure in the direction of the labels: that of the scores in the other order, if it is below 0."""
        own = self.influence
        turned = replace(own, value=-own.value, rows=-own.rows, added=-own.added)
        return Ranking(-self.value, turned) if self.value < 0 else self


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Labelled rows in folds, the fits without each fold, and the score of each row by the one that has not seen it."""

    rows: LabelledRows
    folds: Ints
    fits: Sequence[FittedScore]
    scores: Floats
    confidence: float

    @classmethod
    def of(cls, rows: LabelledRows, folds: Ints, seed: int, confidence: float, share: float = 1.0) -> HeldOut:
        """Fit without each fold in turn, to a share of the other groups."""
        scores, fits = np.empty(len(rows)), []
        for fold in range(FOLDS):
            inside = folds == fold
            training = rows.take(~inside)
            if share < 1:
                training = training.take(part_of_groups(training.groups, share, seed + 1))
            fits.append(fit_score(training, seed))
            scores[inside] = fits[-1].score(rows.take(inside).values)
        return cls(rows, folds, fits, scores, confidence)

    def ranking(self, scores: Floats | None = None) -> Ranking:
        """The mean figure of the folds, weighted by their pairs of classes, or by their rows; of equal scores, 0."""
        rows, n, value, smoothed = self.rows, len(self.rows), 0.0, 0.0
        scores = self.scores if scores is None else scores
        influence, added, weights = np.zeros(n), [np.zeros(0)], [np.zeros(0)]
        parts = [np.flatnonzero(self.folds == fold) for fold in np.unique(self.folds)]
        labels = [rows.labels[inside] for inside in parts]
        grades = [len(one) * (len(np.unique(one)) > 1) for one in labels]
        shares = np.array([one.sum() * (len(one) - one.sum()) for one in labels] if rows.is_binary else grades)
        for inside, share in zip(parts, shares / shares.sum(), strict=True):
            pairs = Pairs.of(scores[inside], rows.labels[inside], added=1 / len(parts))
            figure, own = (some.auc(1.0) if rows.is_binary else some.spearman() for some in (pairs.alone, pairs))
            if not share or math.isnan(figure.value):
                continue
            scale = share * n / pairs.n
            value, smoothed = value + share * figure.value, smoothed + share * own.value
            influence[inside] = scale * own.rows
            added.append(scale * own.added)
            weights.append(own.weights)
        every = Influence(smoothed, influence, rows.clusters, np.concatenate(added), np.concatenate(weights))
        return Ranking(float(value), every)

    def estimate(self, figure: Ranking, *, fitted: bool = True, confidence: float | None = None) -> Estimate:
        """AUC or correlation with its interval, of twice the variance for a fitted score."""
        wider, level = _WIDER if fitted else 1.0, confidence or self.confidence
        found = Estimate.of(figure.value, figure.influence.interval(figure.value, level, wider=wider))
        return as_share(found) if self.rows.is_binary else found

    def gain(self, first: Ranking, other: Ranking) -> Estimate:
        """How much better a fitted score ranks than ``other``, on the same rows; only the fitted one counts twice."""
        from scipy.special import stdtrit

        half = 0.5 if self.rows.is_binary else 1.0
        difference = half * (first.value - other.value)
        rows, clusters = first.influence.rows, self.rows.clusters
        paired, alone = (Sample.of(half * one, clusters).spread for one in (rows - other.influence.rows, rows))
        error = math.hypot(paired.error, alone.error)
        if not error > 0:
            return Estimate(difference, math.nan, math.nan, "none", Note("unchanged"))
        reach = float(stdtrit(paired.freedom, (1 + self.confidence) / 2)) * error
        return Estimate(difference, difference - reach, difference + reach, "t")

    def losses(self, scores: Floats) -> Floats:
        """The squared errors of scores."""
        return (scores - self.rows.labels) ** 2

    def mean(self, losses: Floats, *, bounded: bool = True) -> Estimate:
        """A mean of squared errors, or of their differences, with an interval of twice the variance."""
        least, most = self.rows.bounds
        bounds = (0.0, (most - least) ** 2) if bounded else None
        value = float(losses.mean())
        found = mean_interval(Sample.of(losses, self.rows.clusters, bounds), self.confidence)
        ends = np.array([value - _WIDER * (value - found.low), value + _WIDER * (found.high - value)])
        low, high = (ends if bounds is None else ends.clip(*bounds)).tolist()
        return Estimate(value, low, high, found.kind, found.note)

    def single(self, name: str, scores: RowScores, figure: Ranking) -> SingleScore:
        """A metric alone, in the direction that fits the labels; its squared error is that of a line by the others.

        The direction is read off the same rows, which favours the single metric.
        """
        values, scored = filled(*scores), has_score(*scores)
        found = self.ranking(values)
        alone, is_low = found.upwards(), found.value < 0
        predicted = cross_fitted(within_reach(-values if is_low else values), self.rows, self.folds)
        losses = self.losses(np.clip(predicted, *self.rows.bounds))
        pairs = Pairs.of(-values[scored] if is_low else values[scored], self.rows.labels[scored]).alone
        of_scored = (pairs.auc(1.0).value + 1) / 2 if self.rows.is_binary else pairs.spearman().value
        return SingleScore(
            name,
            is_low,
            self.estimate(alone, fitted=False),
            self.gain(figure, alone),
            self.mean(losses),
            self.mean(losses - self.losses(self.scores), bounded=False),
            int(scored.sum()),
            float(of_scored),
        )

    def calibration(self) -> list[CalibrationBin]:
        """The mean labels of rows in the order of their scores, in bins of about as many rows, with intervals."""
        n_bins = int(np.clip(len(self.rows) // _FEWEST_IN_BIN, 2, _MOST_BINS))
        edges = np.unique(np.quantile(self.scores, np.linspace(0, 1, n_bins + 1)[1:-1]))
        numbers, bins = np.searchsorted(edges, self.scores, side="left"), []
        for number_of_bin in np.unique(numbers):
            inside = numbers == number_of_bin
            rows = self.rows.take(inside)
            found = mean_interval(Sample.of(rows.labels, rows.clusters, rows.bounds), self.confidence)
            means = float(self.scores[inside].mean()), float(rows.labels.mean())
            bins.append(CalibrationBin(len(rows), *means, found.low, found.high))
        return bins

    def importance(self, figure: Ranking, seed: int) -> dict[str, Estimate]:
        """What is lost when one score's values change places within each fold."""
        losses = {}
        parts = [np.flatnonzero(self.folds == fold) for fold in range(len(self.fits))]
        for place, name in enumerate(self.rows.scores):
            scores = np.empty(len(self.rows))
            for fold, (fit, inside) in enumerate(zip(self.fits, parts, strict=True)):
                part = self.rows.take(inside).values
                order = np.random.default_rng([seed, place, fold]).permutation(len(inside))
                part[place] = part[place][0][order], part[place][1][order]
                scores[inside] = fit.score(part)
            losses[name] = self.gain(figure, self.ranking(scores))
        return dict(sorted(losses.items(), key=lambda item: -item[1].value))


def evaluate(rows: LabelledRows, confidence: float, seed: int) -> tuple[Evaluation, Floats]:
    """The held-out figures of a fit, and the held-out scores."""
    folds = folds_of(rows.labels, rows.groups, seed)
    whole = HeldOut.of(rows, folds, seed, confidence)
    figure, curve, trained = whole.ranking(), whole.calibration(), len(rows) * (FOLDS - 1) / FOLDS
    learning = [*(HeldOut.of(rows, folds, seed, confidence, share).ranking() for share in _PARTS), figure]
    points = zip((*_PARTS, 1), learning, strict=True)
    alone = [whole.ranking(filled(*values)).upwards() for values in rows.values]
    level = level_of_each(confidence, len(alone))
    best = max(alone, key=lambda one: one.value)
    found = Evaluation(
        measure="auc" if rows.is_binary else "spearman",
        confidence=confidence,
        folds=FOLDS,
        ranking=whole.estimate(figure),
        error=whole.mean(whole.losses(whole.scores)),
        calibration_error=sum(part.n * abs(part.score - part.label) for part in curve) / sum(part.n for part in curve),
        curve=curve,
        singles=[whole.single(name, values, figure) for name, values in {**rows.scores, **rows.beside}.items()],
        best_ranking=whole.estimate(best, fitted=False, confidence=level),
        naive=next(iter(rows.beside), None),
        learning=[LearningPoint(round(share * trained), whole.estimate(point)) for share, point in points],
        learning_gain=whole.gain(figure, learning[-2]),
        importance=whole.importance(figure, seed),
    )
    return found, whole.scores


# The result of a fit: the score's file as text, its evaluation, and both as printed tables.


_MEASURES = {"auc": ("AUC", "Brier"), "spearman": ("Spearman", "squared error")}
_PERFECT = 1 - 1e-12


@dataclass(frozen=True, eq=False)
class FitResult(Shown, Plotted):
    """A fitted score, its evaluation, and the text of its file."""

    model: FittedModel
    evaluation: Evaluation
    text: str
    output: str | None = None
    """The file that was written."""

    @property
    def recommended(self) -> str | None:
        """The fitted score, or the best single metric if the fitted score does not rank better.

        None if the best of so many metrics is not shown to rank better than chance.
        """
        if self.evaluation.beats_best:
            return self.model.name
        return self.evaluation.best.name if self.evaluation.best_beats_chance else None

    @property
    def looks_reversed(self) -> bool:
        """Whether the best metric and most of the others rank the labels against their declared directions."""
        singles, best = self.evaluation.singles, self.evaluation.best
        own = directions([single.name for single in singles], {}, {})
        declared = [single for single in singles if own[single.name] is not None]
        against = [single for single in declared if (own[single.name] == self.model.better) == single.reversed]
        return self.evaluation.best_beats_chance and best in against and 2 * len(against) > len(declared)

    def picture(self) -> Picture:
        """The calibration on held-out rows: the mean label over the mean score, with intervals."""
        curve = np.array([astuple(part)[1:] for part in self.evaluation.curve]).T
        first = curve[0][0]
        return Curves(
            curves={"": tuple(curve)},
            axis_names=(f"mean {label(self.model.name)}", f"mean {label(self.model.labels['column'])}"),
            lines={"axline": {"xy1": (first, first), "slope": 1}},
        )

    def records(self) -> Sequence[Mapping[str, Any]]:
        """The held-out ranking and error of the fitted score, then of each metric alone, which the fit gains on."""
        fitted = {"name": self.model.name, "ranking": self.evaluation.ranking, "error": self.evaluation.error}
        return [columns_of(fitted), *map(flat, self.evaluation.singles)]

    def to_dict(self) -> dict[str, Any]:
        """The evaluation, the labels, the thresholds and the recommendation as plain values."""
        about = {"name": self.model.name, "output": self.output, "recommended": self.recommended}
        plainly = {"labels": dict(self.model.labels), "thresholds": plain(self.model.thresholds)}
        return {**about, **plainly, **self.evaluation.to_store(), "notes": self.remarks()}

    def grids(self) -> Sequence[Grid]:
        """The figures beside those of single metrics, the calibration, the learning curve, importances, thresholds."""
        evaluation, cuts = self.evaluation, list(starmap(promise_cells, self.model.thresholds.items()))
        ranking, error = _MEASURES[evaluation.measure]
        own = (self.model.name, printed(evaluation.ranking), "", printed(evaluation.error), "")
        singles = sorted(evaluation.singles, key=lambda single: -single.ranking.value)
        figures = [(one.name, *map(printed, (one.ranking, one.gain, one.error, one.error_gain))) for one in singles]
        return [
            Grid(("held out", ranking, "fitted gains", error, "fitted gains"), [own, *figures]),
            lines_of(
                evaluation.curve,
                ("mean score", lambda part: f"{part.score:.3f}"),
                ("rows", "n"),
                ("mean label", lambda part: printed(Estimate(part.label, part.low, part.high))),
            ),
            lines_of(evaluation.learning, ("fitted to rows", "rows"), (ranking, lambda point: printed(point.ranking))),
            lines_of(
                evaluation.importance.items(),
                ("exchanged between rows", "0"),
                (f"{ranking} lost", lambda item: printed(item[1])),
            ),
            *([Grid(PROMISE_HEAD, cuts)] if cuts else []),
        ]

    def remarks(self) -> Sequence[str]:
        """The verdicts, and what the fit has read."""
        evaluation, labels, singles = self.evaluation, self.model.labels, self.evaluation.singles
        best = evaluation.best
        naive = [one for one in singles if one.name == evaluation.naive]
        verdict: dict[str, Any] = {"best": best.name, "ranking": _MEASURES[evaluation.measure][0]}
        verdict |= {"name": self.model.name, "more": printed(best.gain)}
        verdict |= {"figure": printed(evaluation.best_ranking), "n": len(singles) - len(naive)}
        error = {name: getattr(evaluation, name) for name in ("calibration_error", "confidence", "folds")}
        side = directions([best.name], {}, {})[best.name]
        how = f"{'low' if best.reversed else 'high'} values go with high labels"
        perfect = [single.name for single in singles if single.ranking.value > _PERFECT]
        low = [single.name for single in singles if single.reversed]
        n = labels["rows"]
        holes = [
            f"{one.name} {one.ranking_of_scored:.3f} ({one.scored:,} of {n:,} rows)"
            for one in singles
            if one.scored < n
        ]
        groups = Note("of_groups", n=labels["groups"], column=labels["group"]) if "groups" in labels else ""
        positive = Note("of_them_positive", n=labels["positive"]) if "positive" in labels else ""
        fitted = {"n": labels["rows"], "groups": groups, "label": labels["column"], "positive": positive}
        return said(
            Note("fit_better" if evaluation.beats_best else "fit_not_better", **verdict),
            not evaluation.beats_best and Note("fit_use" if evaluation.best_beats_chance else "fit_chance", **verdict),
            self.looks_reversed and reversal_note(best.name, side, how, labels["column"]),
            perfect and Note("fit_perfect", names=perfect),
            [Note("fit_naive", name=one.name, more=printed(one.gain)) for one in naive if not one.gain.low > 0],
            Note("fit_error", **error),
            evaluation.learning_verdict,
            low and Note("fit_low", names=low),
            holes and Note("fit_holes", names=holes, ranking=verdict["ranking"]),
            Note("fitted_on", settings=labels["settings"], **fitted),
            labels["rows_without_label"] and Note("left_out", n=labels["rows_without_label"], why="a label"),
            labels["repeated_questions"] and Note("fit_repeated", n=labels["repeated_questions"]),
            "left_out" in labels and Note("fit_left_out", names=listed(labels["left_out"])),
            list(starmap(promise_note, self.model.thresholds.items())),
            observed_note(self.model.thresholds),
        )
