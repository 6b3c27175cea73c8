"""The result of a fit: the score's file as text, its evaluation, and both as printed tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fastmetrics.base.display import Grid, Shown, number
from fastmetrics.base.input_columns import listed
from fastmetrics.fitting.evaluation import Evaluation, SingleScore
from fastmetrics.fitting.held_out_figures import printed
from fastmetrics.metrics.fitted_file import FittedModel, Threshold
from fastmetrics.stats.estimates import Estimate

_MEASURES = {"auc": ("AUC", "Brier"), "spearman": ("Spearman", "squared error")}
_CHANCE = {"auc": 0.5, "spearman": 0.0}
_PERFECT = 1 - 1e-12
_PROMISES = {
    "precision": "of the rows from the cut on, at least {target:.0%} are positive",
    "recall": "of the positive rows, at least {target:.0%} are from the cut on",
    "risk": "of all rows, at most {target:.0%} are from the cut on and negative",
}


@dataclass(frozen=True, eq=False)
class FitResult(Shown):
    """A fitted score, its evaluation, and the text of its file."""

    model: FittedModel
    evaluation: Evaluation
    text: str
    output: str | None = None
    """The file that was written."""

    @property
    def recommended(self) -> str:
        """The fitted score, or the best single metric if the fitted score does not rank better."""
        return self.model.name if self.evaluation.beats_best else self.evaluation.best.name

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
            grids.append(
                Grid(
                    ("promise", "cut", "rows apart", "hits"),
                    [_promise(*item) for item in self.model.thresholds.items()],
                )
            )
        return grids

    def remarks(self) -> Sequence[str]:
        """The verdicts, and what the fit has read."""
        evaluation, labels = self.evaluation, self.model.labels
        ranking, _ = _MEASURES[evaluation.measure]
        best = evaluation.best
        gain = printed(best.gain)
        if evaluation.beats_best:
            notes = [f"{self.model.name} ranks better than the best single metric, {best.name}: {ranking} +{gain}"]
        else:
            notes = [
                f"nothing here ranks better than the best single metric, {best.name}, beyond chance: "
                f"difference {gain}; use {best.name}"
            ]
            if not best.ranking.low > _CHANCE[evaluation.measure]:
                notes.append(f"{best.name} does not rank better than chance either: {ranking} {printed(best.ranking)}")
        perfect = [single.name for single in evaluation.singles if single.ranking.value > _PERFECT]
        if perfect:
            notes.append(f"{', '.join(perfect)}: the order is that of the labels; check that no label was made from it")
        naive = next((single for single in evaluation.singles if single.name == evaluation.naive), None)
        if naive is not None and not naive.gain.low > 0:
            notes.append(
                f"it does not rank better than naive overlap ({naive.name}) beyond chance: "
                f"difference {printed(naive.gain)}"
            )
        notes.append(
            f"calibration error {printed(evaluation.calibration_error)}; brackets are {evaluation.confidence:.0%} "
            f"intervals over {evaluation.folds} held-out folds, of fitted scores widened for what their fits share"
        )
        notes += [evaluation.learning_verdict] if evaluation.learning_verdict else []
        low = [single.name for single in evaluation.singles if single.reversed]
        notes += [f"low values go with high labels: {', '.join(low)}"] if low else []
        groups = f" in {labels['groups']:,} groups of {labels['group']!r}" if "groups" in labels else ""
        positive = f", {labels['positive']:,} of them positive" if "positive" in labels else ""
        notes.append(
            f"fitted on {labels['rows']:,} rows{groups} labelled {labels['column']!r}{positive}; {labels['settings']}"
        )
        notes += (
            [f"{labels['rows_without_label']:,} rows without a label left out"] if labels["rows_without_label"] else []
        )
        if labels["repeated_questions"]:
            notes.append(
                f"{labels['repeated_questions']:,} rows have a question that is in several groups: hold their rows out "
                "together (group), or the figures are too good"
            )
        notes += (
            [f"left out, as they are constant or read the label: {', '.join(listed(labels['left_out']))}"]
            if ("left_out" in labels)
            else []
        )
        return [*notes, *(_promise_note(name, entry) for name, entry in self.model.thresholds.items())]


def _line(single: SingleScore) -> tuple[str, ...]:
    cells = (single.ranking, single.gain, single.error, single.error_gain)
    return (single.name, *map(printed, cells))


def _promise(name: str, entry: Threshold) -> tuple[str, ...]:
    cut = "none" if entry.cut is None else number(entry.cut)
    return f"{name} {entry.target:g}", cut, number(entry.rows), number(entry.hits)


def _promise_note(name: str, entry: Threshold) -> str:
    what = _PROMISES[name].format(target=entry.target)
    if entry.cut is not None:
        return f"{name}: {what}, with confidence {entry.confidence:g}"
    more = (
        "no number of labels would show it for this score"
        if entry.needed is None
        else (f"about {entry.needed:,} rows apart (a third of the labelled groups) would")
    )
    return f"{name}: the labels do not suffice to show that {what}; {more}"
