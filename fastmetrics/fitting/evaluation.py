"""How good a fitted score is on groups that its fits have not seen, and the result of a fit as printed tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.column_names import listed
from fastmetrics.base.display import Grid, Shown, columns_of, flat, number, plain
from fastmetrics.base.drawing import GREY, PALETTE, canvas, drawn, label
from fastmetrics.base.notes import Note, said
from fastmetrics.fitting.labelled_rows import FOLDS, LabelledRows, filled, folds_of, part_of_groups, within_reach
from fastmetrics.fitting.learners import FittedScore, cross_fitted, fit_score
from fastmetrics.metrics.fitted_file import FittedModel, RowScores
from fastmetrics.results.score_columns import directions
from fastmetrics.results.validate import reversal_note
from fastmetrics.stats.estimates import Estimate, Interval, Sample
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


@dataclass(frozen=True, eq=False)
class FoldRanking:
    """How scores rank labels within folds: 2·AUC − 1 or Spearman's correlation, and the influence of each row."""

    value: float
    influence: Influence
    is_binary: bool

    def shown(self, scaled: float) -> float:
        """A figure as it is printed: AUC, or the correlation."""
        return (1 + scaled) / 2 if self.is_binary else scaled

    def reversed(self) -> FoldRanking:
        """The figure of the scores in the other order."""
        own = self.influence
        turned = replace(own, value=-own.value, rows=-own.rows, added=-own.added)
        return FoldRanking(-self.value, turned, self.is_binary)


def ranking(scores: Floats, rows: LabelledRows, folds: Ints) -> FoldRanking:
    """The mean figure of the folds, weighted by their pairs of classes, or by their rows; of equal scores, 0."""
    n, value, smoothed = len(rows), 0.0, 0.0
    influence, added, weights = np.zeros(n), [np.zeros(0)], [np.zeros(0)]
    numbers = np.unique(folds)
    shares = np.array([_weight(rows.labels[folds == fold], is_binary=rows.is_binary) for fold in numbers])
    for fold, share in zip(numbers, shares / shares.sum(), strict=True):
        inside = folds == fold
        pairs = Pairs.of(scores[inside], rows.labels[inside], added=1 / len(numbers))
        figure, own = (some.auc(1.0) if rows.is_binary else some.spearman() for some in (pairs.alone, pairs))
        if not share or math.isnan(figure.value):
            continue
        scale = share * n / pairs.n
        value, smoothed = value + share * figure.value, smoothed + share * own.value
        influence[inside] = scale * own.rows
        added.append(scale * own.added)
        weights.append(own.weights)
    every = Influence(smoothed, influence, rows.clusters, np.concatenate(added), np.concatenate(weights))
    return FoldRanking(float(value), every, rows.is_binary)


def _weight(labels: Floats, *, is_binary: bool) -> float:
    if is_binary:
        return float(labels.sum() * (len(labels) - labels.sum()))
    return float(len(labels)) if len(np.unique(labels)) > 1 else 0.0


def printed(estimate: Estimate) -> str:
    """A figure with its interval; a dash where there is none."""
    if math.isnan(estimate.low):
        return f"{estimate.value:.3f} –"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def ranking_estimate(figure: FoldRanking, confidence: float, *, fitted: bool) -> Estimate:
    """AUC or correlation with its interval, of twice the variance for a fitted score."""
    interval = figure.influence.interval(figure.value, confidence, wider=_WIDER if fitted else 1.0)
    low, high = figure.shown(interval.low), figure.shown(interval.high)
    return Estimate(figure.shown(figure.value), low, high, interval.kind, interval.note)


def ranking_difference(first: FoldRanking, other: FoldRanking, rows: LabelledRows, confidence: float) -> Estimate:
    """How much better a fitted score ranks than ``other``, on the same rows; only the fitted one counts twice."""
    from scipy.special import stdtrit

    half = 0.5 if first.is_binary else 1.0
    difference = half * (first.value - other.value)
    paired = Sample.of(half * (first.influence.rows - other.influence.rows), rows.clusters).spread
    alone = Sample.of(half * first.influence.rows, rows.clusters).spread
    error = math.hypot(paired.error, alone.error)
    if not error > 0:
        return Estimate(difference, math.nan, math.nan, "none", Note("unchanged"))
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


def calibration_error(curve: Sequence[CalibrationBin]) -> float:
    """The mean distance of score and label over the bins of a curve, by number of rows."""
    return sum(part.n * abs(part.score - part.label) for part in curve) / sum(part.n for part in curve)


# How good a fitted score is on groups that its fits have not seen, beside the single metrics and naive overlap.


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
    calibration_error: float
    """The mean distance of score and label over the parts of the curve, by number of rows."""
    curve: Sequence[CalibrationBin]
    singles: Sequence[SingleScore]
    best_ranking: Estimate
    """The ranking of the best single metric, with an interval that allows for its choice on these rows."""
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
    def best_beats_chance(self) -> bool:
        """Whether the best single metric ranks better than chance, though it was chosen on these rows."""
        return bool(self.best_ranking.low > _CHANCE[self.measure])

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


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The fits of the folds, and the score of each row by the fit that has not seen its fold."""

    folds: Ints
    fits: Sequence[FittedScore]
    scores: Floats


def held_out(rows: LabelledRows, bounds: tuple[float, float], seed: int, folds: Ints, share: float = 1.0) -> HeldOut:
    """Fit without each fold in turn, to a share of the other groups."""
    scores, fits = np.empty(len(rows)), []
    for fold in range(FOLDS):
        inside = folds == fold
        training = rows.take(~inside)
        if share < 1:
            training = training.take(part_of_groups(training.groups, share, seed + 1))
        fits.append(fit_score(training, bounds, seed))
        scores[inside] = fits[-1].score(rows.take(inside).values)
    return HeldOut(folds, fits, scores)


def evaluate(
    rows: LabelledRows,
    bounds: tuple[float, float],
    naive: tuple[str, RowScores] | None,
    *,
    confidence: float = 0.95,
    seed: int = 0,
    curves: bool = True,
) -> tuple[Evaluation, HeldOut]:
    """The held-out figures of a fit; ``curves`` adds the learning curve and the importances."""
    folds = folds_of(rows.labels, rows.groups, seed)
    out_of_fold = held_out(rows, bounds, seed, folds)
    figure = ranking(out_of_fold.scores, rows, folds)
    points, gain = _learning(rows, bounds, out_of_fold, figure, confidence, seed) if curves else ([], None)
    curve = calibration_curve(out_of_fold.scores, rows, bounds, confidence)
    scores = {**rows.scores, **({} if naive is None else {naive[0]: naive[1]})}
    alone = [ranking_alone(filled(*values), rows, folds)[0] for values in rows.values]
    level = level_of_each(confidence, len(alone))
    evaluation = Evaluation(
        measure="auc" if rows.is_binary else "spearman",
        confidence=confidence,
        folds=FOLDS,
        ranking=ranking_estimate(figure, confidence, fitted=True),
        error=squared_error(out_of_fold.scores, rows, bounds, confidence),
        calibration_error=calibration_error(curve),
        curve=curve,
        singles=[
            _single(name, filled(*values), rows, out_of_fold, figure, bounds, confidence)
            for name, values in scores.items()
        ],
        best_ranking=ranking_estimate(max(alone, key=lambda one: one.value), level, fitted=False),
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
    """A metric alone, in the direction that fits the labels; its squared error is that of a line by the others.

    The direction is read off the same rows, which favours the single metric.
    """
    alone, low = ranking_alone(values, rows, out_of_fold.folds)
    signed = within_reach(-values if low else values)
    scores = np.clip(cross_fitted(signed, rows, out_of_fold.folds), *bounds)
    return SingleScore(
        name,
        low,
        ranking_estimate(alone, confidence, fitted=False),
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
    bounds: tuple[float, float],
    out_of_fold: HeldOut,
    figure: FoldRanking,
    confidence: float,
    seed: int,
) -> tuple[list[LearningPoint], Estimate]:
    """The learning curve, and what the second half of the labels added."""
    points, figures = [], []
    for share in _PARTS:
        part = held_out(rows, bounds, seed, out_of_fold.folds, share)
        figures.append(ranking(part.scores, rows, out_of_fold.folds))
        n = round(share * len(rows) * (FOLDS - 1) / FOLDS)
        points.append(LearningPoint(n, ranking_estimate(figures[-1], confidence, fitted=True)))
    whole = LearningPoint(round(len(rows) * (FOLDS - 1) / FOLDS), ranking_estimate(figure, confidence, fitted=True))
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


# The result of a fit: the score's file as text, its evaluation, and both as printed tables.


_MEASURES = {"auc": ("AUC", "Brier"), "spearman": ("Spearman", "squared error")}
_CHANCE = {"auc": 0.5, "spearman": 0.0}
_PERFECT = 1 - 1e-12


@dataclass(frozen=True, eq=False)
class FitResult(Shown):
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
        own = directions([single.name for single in self.evaluation.singles], {}, {})
        against = {
            single.name: (own[single.name] == self.model.better) == single.reversed
            for single in self.evaluation.singles
            if own[single.name] is not None
        }
        most = 2 * sum(against.values()) > len(against)
        return self.evaluation.best_beats_chance and against.get(self.evaluation.best.name, False) and most

    def plot(self, figure: Any = None) -> Any:
        """The axes of a chart: the calibration on held-out rows, the mean label over the mean score, with intervals.

        ``figure`` is one of Matplotlib, or a part of one; by default a new one.
        """
        figure = canvas(figure, 4.6, 4.4)
        axes = figure.add_subplot()
        curve = self.evaluation.curve
        scores, labels, low, high = (
            np.array([getattr(part, name) for part in curve]) for name in ("score", "label", "low", "high")
        )
        axes.errorbar(scores, labels, [labels - low, high - labels], color=PALETTE[0], fmt="o-", markersize=4)
        axes.axline((scores[0], scores[0]), slope=1, color=GREY, linewidth=0.8, zorder=0)
        axes.set_xlabel(f"mean {label(self.model.name)}")
        axes.set_ylabel(f"mean {label(self.model.labels['column'])}")
        return drawn(figure)

    def records(self) -> Sequence[Mapping[str, Any]]:
        """The held-out ranking and error of the fitted score, then of each metric alone, which the fit gains on."""
        fitted = {"name": self.model.name, "ranking": self.evaluation.ranking, "error": self.evaluation.error}
        return [columns_of(fitted), *map(flat, self.evaluation.singles)]

    def to_dict(self) -> dict[str, Any]:
        """The evaluation, the labels, the thresholds and the recommendation as plain values."""
        thresholds = {name: asdict(entry) for name, entry in self.model.thresholds.items()}
        return {
            "name": self.model.name,
            "output": self.output,
            "recommended": self.recommended,
            "labels": dict(self.model.labels),
            "thresholds": thresholds,
            **self.evaluation.to_store(),
            "notes": self.remarks(),
        }

    def grids(self) -> Sequence[Grid]:
        """The figures beside those of single metrics, the calibration, the learning curve, importances, thresholds."""
        evaluation = self.evaluation
        ranking, error = _MEASURES[evaluation.measure]
        rows: list[tuple[str, ...]] = [
            (self.model.name, printed(evaluation.ranking), "", printed(evaluation.error), "")
        ]
        rows += [_line(single) for single in sorted(evaluation.singles, key=lambda single: -single.ranking.value)]
        grids = [Grid(("held out", ranking, "fitted gains", error, "fitted gains"), rows)]
        curve = [
            (f"{part.score:.3f}", number(part.n), printed(Estimate(part.label, part.low, part.high)))
            for part in evaluation.curve
        ]
        grids.append(Grid(("mean score", "rows", "mean label"), curve))
        if evaluation.learning:
            points = [(number(point.rows), printed(point.ranking)) for point in evaluation.learning]
            grids.append(Grid(("fitted to rows", ranking), points))
        if evaluation.importance:
            losses = [(name, printed(loss)) for name, loss in evaluation.importance.items()]
            grids.append(Grid(("exchanged between rows", f"{ranking} lost"), losses))
        if self.model.thresholds:
            grids.append(Grid(PROMISE_HEAD, [promise_cells(*item) for item in self.model.thresholds.items()]))
        return grids

    def remarks(self) -> Sequence[str]:
        """The verdicts, and what the fit has read."""
        evaluation, labels = self.evaluation, self.model.labels
        best, singles = evaluation.best, evaluation.singles
        naive = next((single for single in singles if single.name == evaluation.naive), None)
        verdict: dict[str, Any] = {
            "name": self.model.name,
            "best": best.name,
            "ranking": _MEASURES[evaluation.measure][0],
        }
        verdict |= {"more": printed(best.gain), "figure": printed(evaluation.best_ranking)}
        verdict |= {"n": len(singles) - (naive is not None)}
        side = directions([best.name], {}, {})[best.name]
        how = f"{'low' if best.reversed else 'high'} values go with high labels"
        perfect = [single.name for single in singles if single.ranking.value > _PERFECT]
        low = [single.name for single in singles if single.reversed]
        groups = Note("of_groups", n=labels["groups"], column=labels["group"]) if "groups" in labels else ""
        positive = Note("of_them_positive", n=labels["positive"]) if "positive" in labels else ""
        fitted = {"n": labels["rows"], "groups": groups, "label": labels["column"], "positive": positive}
        use = "fit_use" if evaluation.best_beats_chance else "fit_chance"
        return said(
            Note("fit_better" if evaluation.beats_best else "fit_not_better", **verdict),
            not evaluation.beats_best and Note(use, **verdict),
            self.looks_reversed and reversal_note(best.name, side, how, labels["column"]),
            perfect and Note("fit_perfect", names=perfect),
            naive is not None
            and not naive.gain.low > 0
            and Note("fit_naive", name=naive.name, more=printed(naive.gain)),
            Note(
                "fit_error",
                **{name: getattr(evaluation, name) for name in ("calibration_error", "confidence", "folds")},
            ),
            evaluation.learning_verdict,
            low and Note("fit_low", names=low),
            Note("fitted_on", settings=labels["settings"], **fitted),
            labels["rows_without_label"] and Note("left_out", n=labels["rows_without_label"], why="a label"),
            labels["repeated_questions"] and Note("fit_repeated", n=labels["repeated_questions"]),
            "left_out" in labels and Note("fit_left_out", names=listed(labels["left_out"])),
            [promise_note(name, entry) for name, entry in self.model.thresholds.items()],
            observed_note(self.model.thresholds),
        )


def _line(single: SingleScore) -> tuple[str, ...]:
    cells = (single.ranking, single.gain, single.error, single.error_gain)
    return (single.name, *map(printed, cells))
