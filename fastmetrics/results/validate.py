"""Comparing scores with human labels, and the agreement between people: figures, notes and printed tables."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.column_names import PREFIX, REPAIRS, is_cost, listed
from fastmetrics.base.columns import index_columns
from fastmetrics.base.display import HIDDEN, Grid, ShownMapping, columns_of, lines_of, number
from fastmetrics.base.display import interval as interval_of
from fastmetrics.base.drawing import MOST, Curves, label, left_out, plotted
from fastmetrics.base.errors import (
    Argument,
    ColumnError,
    InputError,
    MissingExtraError,
    OptionError,
    UnknownColumnError,
    UnknownNameError,
)
from fastmetrics.base.notes import Figure, Note, interval_notes, mark_of, said
from fastmetrics.base.options import Choice, Real, argument, by_name, check_names
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.specs import Better
from fastmetrics.results.opening_scores import are_ids, as_table, open_scores, read_table, with_ids_of
from fastmetrics.results.score_columns import (
    check_scores,
    column_named,
    declarations_of,
    directions,
    score_columns,
    stated_better,
    with_score_types,
)
from fastmetrics.results.score_table import own_numbers
from fastmetrics.stats.association import Association, Decision, associate
from fastmetrics.stats.estimates import Estimate
from fastmetrics.stats.labels import ROW, RowLabels, clusters_of, positive_from
from fastmetrics.stats.promises import (
    PROMISE_HEAD,
    CutPromises,
    Promise,
    Promises,
    Threshold,
    level_of_each,
    observed_note,
    one_of_each,
    promise_cells,
    promise_note,
    promises_of,
    ready_threshold,
)
from fastmetrics.stats.raters import ALPHAS, KAPPAS, Agreement, agreement
from fastmetrics.tables.opening import is_paths

_SCALE = 20  # a metric with at most this many values, all of them labels too, uses the labels' scale


def validate(
    scores: Annotated[Any, Help("A score file, or a table of scores.")],
    labels: Annotated[
        Any, Help("Human labels: a file, a table, a column, or the name of a column of the scores.")
    ] = None,
    *,
    label: shared.Label = None,
    raters: Annotated[Sequence[str] | str, Help("Columns of labels, one for each person: ann,bob.")] = (),
    on: Annotated[
        str | None, Help("The column that pairs the rows; by default the id, or without one the position.")
    ] = None,
    metrics: shared.OnlyMetrics = None,
    positive: shared.Positive = None,
    thresholds: Annotated[
        Mapping[str, float] | None, Help("Thresholds of metrics, instead of the best: token_f1=0.5.")
    ] = None,
    promises: Promises = None,
    confidence: shared.Confidence = 0.95,
    cluster: shared.Cluster = None,
    better: shared.Better = None,
) -> Validation:
    """Compare each metric of ``scores`` with human labels: correlations, ROC AUC, best threshold, intervals, agreement.

    ``scores`` and ``labels`` are tables or paths; ``labels`` may also be a sequence, or the name of a column of the
    scores; without it, ``label`` or ``raters`` name such columns.  Rows are matched by the column ``on``; by default by
    ``id`` if both tables have it, or the index of pandas, otherwise by position.  ``label`` names the column of labels
    (numbers or booleans; by default the only such column; a list is the labels of several people), ``raters`` columns
    with the labels of one person each, whose mean is the label.

    High labels are assumed to be good.  If lower is better for a metric, low scores are treated as positive;
    correlations keep their sign.  Labels of at least ``positive`` are positive: 1 for labels 0 and 1 (and yes and no),
    and no default for others, which are grades even where a sample has two of them.  ``cluster`` names the column of
    groups whose rows are dependent.  Row numbers and the cost of a judge's calls are no metrics unless named.
    ``promises`` finds cuts that keep a precision, recall or risk with ``confidence``.  The figures and their intervals
    are those of
    :func:`fastmetrics.stats.association.associate`.

    >>> found = validate({"token_f1": [0.1, 0.4, 0.35, 0.8]}, [0, 0, 1, 1])
    >>> found["token_f1"].auc.value
    0.75

    Raises ``ColumnError`` if there is no score or no unambiguous label, or if the tables cannot be matched;
    ``InputError`` for duplicate ids or no shared id; ``UnknownNameError`` for an unknown metric.
    """
    check_names(label=label, on=on, cluster=cluster)
    raters, metrics, fixed = (
        listed(raters, "raters"),
        listed(metrics, "metrics"),
        by_name("thresholds", thresholds, "numbers"),
    )
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    if promises is not None and not isinstance(promises, CutPromises):
        raise OptionError(Argument("promises", promises), ": expected a CutPromises: CutPromises(precision=0.95)")
    positive = None if positive is None else argument("positive", positive, _ANY_NUMBER)
    fixed = {name: argument(f"thresholds[{name!r}]", value, _ANY_NUMBER) for name, value in fixed.items()}
    keys = [name for name in (on, cluster) if name is not None]
    texts = {"id", on or "id", cluster or "id"}  # read these as text, so that 007 differs from 7
    scores = read_table(scores, texts) if is_paths(scores) else scores
    left, unread = as_table(scores, on, [*metrics, *fixed, *keys], "scores")
    if labels is None and label is None and not raters:
        raise OptionError(Argument("labels"), ": name a file, a table or a column of the scores with the labels")
    if isinstance(labels, str) and not Path(labels).exists():
        if labels in left.column_names:
            labels, label = None, labels
        elif re.fullmatch(r"[\w ]+", labels):  # no path, pattern or address
            raise UnknownNameError.of("file or column of labels", labels, left.column_names)
    if labels is None:  # labels among the scores are those of their rows
        own = [*raters, *([] if label is None else [label])]
        for name in own:
            if name not in left.column_names:
                raise UnknownNameError.of("column", name, left.column_names)
        labels, on = left.select(dict.fromkeys(own)).replace_schema_metadata(), None
    keys = [name for name in (on, cluster) if name is not None]
    index = sorted(index_columns(left.schema))
    named = index[0] if are_ids(left, index) else ScoreMetadata.of_schema(left.schema).own_columns.get("id")
    labels = read_table(labels, {*texts, named or "id"}) if is_paths(labels, or_column=True) else labels
    right, _ = as_table(labels, on, [*raters, *keys, *([label] if label is not None else [])], "labels")
    right, on = with_ids_of(left, right, on, named)
    left = with_score_types(left)
    names = score_columns(left.schema)
    metrics = [column_named(name, names) for name in metrics]
    fixed = {column_named(name, names): threshold for name, threshold in fixed.items()}
    every = dict.fromkeys([*right.column_names, *left.column_names])
    if cluster is not None and cluster not in every:
        raise UnknownColumnError(f"cluster: {UnknownNameError.of('column', cluster, every)}")
    truth = RowLabels.of(left, right, label=label, on=on, raters=raters, others=keys)
    if truth.ratings:  # a mean of several people's labels is no number of their narrow type
        truth = replace(truth, precision=None)
    rows, label = truth.rows, truth.name
    groups = clusters_of({"labels": right, "scores": left}, cluster, rows)
    beside = (*keys, *raters, label)
    scored = open_scores(left, table="scores")
    measured = scored.measured(beside)
    free = [name for name in names if name not in beside and not _is_about_rows(name)]
    chosen = metrics or [name for name in free if name in measured] or free
    if not metrics:
        unread = [*unread, *own_numbers([scored], (*beside, *{*names}.difference(free)), "metrics= (-m) takes them")]
    if not chosen:
        kinds = "numbers or booleans"
        among = f"no column of scores ({kinds}) among {', '.join(left.column_names) or 'none'}"
        raise ColumnError(f"{among}; run `fastmetrics score` (fm.score) first")
    for name in [*metrics, *fixed]:
        if name not in names:
            raise UnknownNameError.of("metric", name, names)
    check_scores(left, chosen, "scores")
    stated = {label: "higher", **stated_better(better)}
    ways = directions([*names, label], declarations_of(left.schema), stated, "metric or label")
    has_label = ~np.isnan(truth.truth)
    positive = positive_from(truth.truth[has_label]) if positive is None else positive
    targets = promises_of(promises or CutPromises())
    if targets and positive is None:
        raise OptionError(
            Argument(targets[0].name),
            " needs labels of two classes: set the positive grades with ",
            Argument("positive"),
        )
    labelled = Labelled(truth, positive, groups, targets, level_of_each(confidence, len(chosen)))
    validations = {
        name: validated(name, left.column(name), labelled, ways, confidence, fixed.get(name)) for name in chosen
    }
    best: BestMetric | None = None
    if len(validations) > 1 and not all(math.isnan(_toward(one, positive)) for one in validations.values()):
        name = _best(validations, positive)
        level = level_of_each(confidence, len(validations))
        one = validated(name, left.column(name), replace(labelled, targets=()), ways, level, fixed.get(name))
        best = BestMetric(name, _measure(positive), getattr(one, _measure(positive)), len(validations))
    return Validation(
        joined_by=truth.joined_by,
        n_rows=int((rows >= 0).sum()),
        n_no_label=int((~has_label & (rows >= 0)).sum()),
        n_only_scores=int((rows < 0).sum()),
        n_only_labels=right.num_rows - int((rows >= 0).sum()),
        label=label,
        positive=positive,
        confidence=confidence,
        metrics=validations,
        best=best,
        looks_reversed=best is not None and _looks_reversed(validations, best, positive),
        raters=_of_raters(truth, groups, confidence) if len(truth.ratings) > 1 else None,
        cluster=cluster,
        n_clusters=None if groups is None else len(np.unique(groups[has_label])),
        left_out=unread,
        rows=(left, truth),
    )


def reversal_note(metric: str, better: Better, figure: str, label: str) -> str:
    """The note on labels of which the best metric says the opposite of what its direction promises."""
    return Note("reversed", metric=metric, better=better, figure=figure, label=label)


def _measure(positive: float | None) -> str:
    return "spearman" if positive is None else "auc"


def _toward(metric: MetricValidation, positive: float | None) -> float:
    """How far a metric ranks better than chance, in its direction; in any direction if it has none."""
    figure = metric.spearman.value if positive is None else 2 * metric.auc.value - 1
    if positive is None and metric.opposed:
        figure = -figure
    return abs(figure) if metric.better is None else figure


def _is_about_rows(name: str) -> bool:
    """Whether a column has the numbers of rows, or numbers about a judge's calls."""
    return name == ROW or is_cost(name) or (name.startswith(PREFIX) and name.endswith(REPAIRS))


def _best(metrics: Mapping[str, MetricValidation], positive: float | None) -> str:
    """The metric that ranks the labels best, or, where all that have a direction go against it, the strongest."""
    figures = {name: _toward(metric, positive) for name, metric in metrics.items()}
    defined = {name: figure for name, figure in figures.items() if not math.isnan(figure)}
    return max(defined, key=lambda name: abs(defined[name]))


def _looks_reversed(metrics: Mapping[str, MetricValidation], best: BestMetric, positive: float | None) -> bool:
    """Whether the strongest metric and most of the others with a direction rank the labels the wrong way."""
    figures = [_toward(metric, positive) for metric in metrics.values() if metric.better is not None]
    against = sum(figure < 0 for figure in figures)
    return best.beyond_chance and _toward(metrics[best.metric], positive) < 0 and 2 * against > len(figures)


@dataclass(frozen=True)
class Labelled:
    """The labels of the rows, the threshold of positive ones, the groups of the rows, −1 for none, and the promises."""

    labels: RowLabels
    positive: float | None = None
    groups: Ints | None = None
    targets: Sequence[Promise] = ()
    level: float = math.nan
    """The confidence of each metric's promises, at which those of all metrics hold together."""


def validated(
    name: str,
    column: pa.ChunkedArray,
    labelled: Labelled,
    directions: Mapping[str, Better],
    confidence: float,
    threshold: float | None = None,
    span: tuple[float, float] | None = None,
) -> MetricValidation:
    """The comparison of one metric with the labels; with a ``span``, both are on its scale if all labels are in it."""
    labels, positive = labelled.labels, labelled.positive
    scores, truth, usable = labels.of_both(column)
    opposed = directions.get(name) is not None and directions[name] != directions[labels.name]
    clusters = None if labelled.groups is None else np.unique(labelled.groups[usable], return_inverse=True)[1]
    how: dict[str, Any] = {"confidence": confidence, "clusters": clusters}
    figures = associate(scores, truth, positive=positive, threshold=threshold, opposed=opposed, **how)
    agreed = None
    if not opposed and (_on_scale(scores, truth) if span is None else is_within(truth, span)):
        label = labels.name if labels.name != name else f"{name} (label)"
        agreed = agreement({name: scores, label: truth}, raters=[name, label], **how)
    chosen = np.arange(len(scores)) if clusters is None else one_of_each(clusters, 0)
    thresholds, sign = {}, -1 if opposed else 1
    for promise in labelled.targets if len(chosen) else ():
        rows = sign * scores[chosen], truth[chosen] >= (math.inf if positive is None else positive)
        found = ready_threshold(promise, *rows, labelled.level)
        cut, observed = (None if one is None else sign * one + 0.0 for one in (found.cut, found.observed))
        thresholds[promise.name] = replace(found, cut=cut, observed=observed, confidence=confidence)
    return MetricValidation(
        **vars(figures),
        thresholds=thresholds,
        n_no_score=int((~np.isnan(labels.truth) & ~usable).sum()),
        better=directions.get(name),
        opposed=opposed,
        agreement=agreed,
    )


def _of_raters(labels: RowLabels, groups: Ints | None, confidence: float) -> Agreement:
    """The agreement of the raters of all rows with a label; with groups, of those that belong to rows of scores."""
    ratings, paired = labels.ratings, labels.rows >= 0
    if groups is not None:
        ratings = {name: column.take(pa.array(labels.rows[paired])) for name, column in ratings.items()}
    return agreement(
        ratings, raters=list(ratings), confidence=confidence, clusters=None if groups is None else groups[paired]
    )


def _on_scale(values: Floats, truth: Floats) -> bool:
    distinct = np.unique(values)
    return 2 <= len(distinct) <= _SCALE and bool(np.isin(distinct, truth).all())


def is_within(labels: Floats, span: tuple[float, float]) -> bool:
    """Whether there are labels, and all are in the range of the scores."""
    return len(labels) > 0 and bool(span[0] <= labels.min() and labels.max() <= span[1])


_ANY_NUMBER = Real(-1e18, 1e18)
_ESTIMATES = tuple(f.name for f in fields(Association) if f.type == "Estimate")
_DECISION = tuple(f.name for f in fields(Decision))


@dataclass(frozen=True)
class MetricValidation(Association):
    """The figures of one metric against the labels."""

    n_no_score: int
    """Labelled rows without a score: null, undefined or infinite; not in ``n``."""
    better: Better
    """The direction of better scores; None if neither declared nor given."""
    opposed: bool
    """Whether low scores go with high labels; AUC and decisions then treat low scores as positive.
    """
    thresholds: Mapping[str, Threshold]
    """The cuts of the promises; of an ``opposed`` metric, low scores are from the cut on."""
    agreement: Agreement | None
    """Agreement of metric and label as two raters, if the metric's values are values of the label."""


@dataclass(frozen=True)
class BestMetric:
    """The strongest of several metrics, with an interval that allows for its choice on the same rows."""

    metric: str
    measure: str
    """``auc``, or ``spearman`` for graded labels."""
    estimate: Estimate
    n_metrics: int

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval excludes chance."""
        chance = 0.5 if self.measure == "auc" else 0.0
        return self.estimate.low > chance or self.estimate.high < chance

    @property
    def figure(self) -> str:
        """The figure with its interval."""
        name = "AUC" if self.measure == "auc" else "Spearman"
        return f"{name} {_valued(replace(self.estimate, note=None))}"


@dataclass(frozen=True)
class Validation(ShownMapping[MetricValidation], of="metrics"):
    """All metrics against the labels, and the agreement of the raters; prints as tables."""

    joined_by: str
    """``position``, or the column that pairs labels and scores."""
    n_rows: int
    """Rows of scores with a row of labels."""
    n_no_label: int
    """Paired rows whose label is missing."""
    n_only_scores: int
    """Rows of scores without a row of labels; not in ``n_rows``."""
    n_only_labels: int
    """Rows of labels without a row of scores."""
    label: str
    positive: float | None
    """Labels of at least this value are positive; None: the label is graded, and AUC, F1 and others are undefined."""
    confidence: float
    metrics: Mapping[str, MetricValidation]
    raters: Agreement | None
    """The agreement of the labels' raters, if there are several."""
    cluster: str | None = None
    """The column with the groups of the rows."""
    n_clusters: int | None = None
    """The number of groups of labelled rows."""
    best: BestMetric | None = None
    """The metric with the strongest ranking; None for one metric."""
    looks_reversed: bool = False
    """Whether the metrics rank the labels the wrong way."""
    left_out: Sequence[str] = ()
    """The columns that could not be read, with the reasons."""
    rows: tuple[pa.Table, RowLabels] | None = field(default=None, repr=False, compare=False, metadata=HIDDEN)
    """The scores and the labels that charts show."""

    @property
    def notes(self) -> list[str]:
        """How the tables were paired, missing rows, and the definition of positive."""
        of = "" if self.n_clusters is None else Note("over_groups_of", n=self.n_clusters, column=self.cluster)
        low = [name for name, metric in self.metrics.items() if metric.opposed]
        binary = self.positive is not None
        promised = {
            name: promise_note(name, replace(one, cut=0.0))
            for m in self.metrics.values()
            for name, one in m.thresholds.items()
        }
        together = len(self.metrics) > 1
        best, better = self.best, None if self.best is None else self.metrics[self.best.metric].better
        return said(
            Note("labels_paired", n=self.n_rows, by=self.joined_by, label=self.label),
            self.n_no_label and Note("rows_no_label", n=self.n_no_label),
            self.n_only_scores and Note("only_in_scores", n=self.n_only_scores),
            self.n_only_labels and Note("only_in_labels", n=self.n_only_labels),
            interval_notes(self.record(), self.confidence, of),
            Note("positive_from", positive=self.positive) if binary else Note("graded"),
            binary and low and Note("low_is_positive", names=low),
            [Note("together", note=note, n=len(self.metrics)) if together else note for note in promised.values()],
            observed_note({name: one for m in self.metrics.values() for name, one in m.thresholds.items()}),
            best
            and Note(
                "strongest",
                n=best.n_metrics,
                metric=best.metric,
                figure=best.figure,
                beyond="" if best.beyond_chance else Note("no_better"),
            ),
            best and self.looks_reversed and reversal_note(best.metric, better, f"it has {best.figure}", self.label),
            list(self.left_out),
        )

    def remarks(self) -> Sequence[str]:
        """The notes."""
        return self.notes

    def record(self) -> Sequence[Figure]:
        """The figures of each metric, and the agreement of raters."""
        figures = [
            Figure.of(figure, getattr(metric, figure), n=metric.n, system=name)
            for name, metric in self.metrics.items()
            for figure in self._shown()
        ]
        agreed = [one for raters in self._agreements() for one in _figures_of(raters)]
        return [*figures, *(Figure.of(name.replace("_", " "), one, n=n, system=both) for both, n, name, one in agreed)]

    def _shown(self) -> list[str]:
        return [name for name in _ESTIMATES if self.positive is not None or name not in ("auc", "f1")]

    def _agreements(self) -> list[Agreement]:
        as_raters = [m.agreement for m in self.metrics.values()]
        return [raters for raters in (*as_raters, self.raters) if raters is not None]

    def plot(
        self,
        figure: Any = None,
        *,
        kind: Literal["roc", "precision-recall", "calibration"] = "roc",
        metrics: Sequence[str] | str = (),
    ) -> Any:
        """The axes of a chart by scikit-learn: a curve for each of the metrics, by default the first 16.

        ``roc`` is the share of found positive labels over that of false alarms, ``precision-recall`` the precision over
        the share found, and ``calibration`` the share of positive labels over the mean score of ten equal parts of the
        rows, of metrics between 0 and 1.  Low scores of a metric for which lower is better count as high.  ``figure``
        is one of Matplotlib, or a part of one; by default a new one.  Points on the first two are the thresholds of the
        decisions, crosses the cuts of promises.

        Raises ``OptionError`` for graded labels and for another kind, ``UnknownNameError`` for an unknown metric,
        ``InputError`` if there is no curve to draw, and ``MissingExtraError`` without the extra ``plot``.
        """
        argument("kind", kind, Choice("roc", "precision-recall", "calibration"))
        if self.positive is None or self.rows is None:
            raise OptionError("curves need labels of two classes: set the positive grades with ", Argument("positive"))
        scored, labels = self.rows
        names = [column_named(name, list(self.metrics)) for name in listed(metrics)] or list(self.metrics)
        for name in names:
            if name not in self.metrics:
                raise UnknownNameError.of("metric", name, list(self.metrics))
        found: dict[str, tuple[Any, ...]] = {}
        points: dict[str, list[tuple[str, float, float]]] = {}
        for name in names[:MOST]:
            scores, truth, _ = labels.of_both(scored.column(name))
            own = self.metrics[name]
            curve = _curve(kind, scores, truth >= self.positive, opposed=own.opposed)
            if curve is None:
                continue
            found[label(name) + curve[0]] = curve[1:]
            if kind != "calibration":
                cuts: dict[str, list[float | None]] = {
                    "o": [own.decision.threshold],
                    "X": [one.cut for one in own.thresholds.values()],
                }
                points[label(name) + curve[0]] = [
                    (marker, *_point(kind, scores, truth >= self.positive, cut, opposed=own.opposed))
                    for marker, every in cuts.items()
                    for cut in every
                    if cut is not None and not math.isnan(cut)
                ]
        if not found:
            raise InputError(f"no metric has a curve of {kind}: it needs scores beside labels of both classes")
        axes = {"roc": ("false positive rate", "true positive rate"), "precision-recall": ("recall", "precision")}
        calibrated: dict[str, Any] = {"lines": {"axline": {"xy1": (0, 0), "slope": 1}}, "marker": "o"}
        picture = Curves(
            curves=found,
            points=points,
            axis_names=axes.get(kind, ("mean score", "share of positive labels")),
            notes=left_out(names, "metrics"),
            **(calibrated if kind == "calibration" else {"marker": "", "steps": kind == "precision-recall"}),
        )
        return plotted(picture, figure)

    def records(self) -> Sequence[Mapping[str, Any]]:
        """One row per metric: figures with their ``_low``, ``_high`` and ``_interval``, and those of the decision.

        A promise adds ``precision_target``, ``_cut``, and ``_observed``, the cut where these rows reach the target.
        """
        counts = ("n", "n_no_score", "better", "opposed")
        return [
            {"metric": name, **{key: getattr(metric, key) for key in counts}}
            | columns_of({figure: getattr(metric, figure) for figure in _ESTIMATES})
            | vars(metric.decision)
            | {f"{figure}_interval": getattr(metric, figure).interval for figure in _ESTIMATES}
            | {
                f"{promise}_{what}": getattr(found, what)
                for promise, found in metric.thresholds.items()
                for what in ("target", "cut", "observed")
            }
            for name, metric in self.metrics.items()
        ]

    def grids(self) -> list[Grid]:
        """The figures, the decisions, and the agreement of raters."""
        named = "metric=0", ("positive", lambda item: "≤" if item[1].opposed else "≥")
        figures = [(one, lambda item, one=one: _valued(getattr(item[1], one))) for one in self._shown()]
        decision = [(name, f"1.decision.{name}") for name in _DECISION]
        every = self.metrics.items()
        cuts = [(*item, promise_cells(*cut)) for item in every for cut in item[1].thresholds.items()]
        parts = [(head, lambda item, at=at: item[2][at]) for at, head in enumerate(PROMISE_HEAD)]
        agreed = [one for raters in self._agreements() for one in _figures_of(raters)]
        figure = ("agreement", lambda one: one[2].replace("_", " ")), ("value", lambda one: _valued(one[3]))
        return [
            lines_of(every, named[0], "better=1.better", "n=1.n", *figures),
            *([lines_of(every, *named, *decision, "no score=1.n_no_score")] if self.positive is not None else []),
            *([lines_of(cuts, *named, *parts)] if cuts else []),
            *([lines_of(agreed, "raters=0", "n=1", *figure)] if self._agreements() else []),
        ]


def _curve(kind: str, scores: Floats, is_positive: Flags, *, opposed: bool) -> tuple[str, Floats, Floats] | None:
    """What is said beside the name of a metric, and x and y of its curve, by scikit-learn; None if it has none."""
    try:
        from sklearn import calibration, metrics
    except ImportError as error:
        raise MissingExtraError.of("scikit-learn", "plot") from error
    if not 0 < is_positive.sum() < len(is_positive):
        return None
    if kind == "calibration":
        if scores.min() < 0 or scores.max() > 1:
            return None
        scores = 1 - scores if opposed else scores
        share, mean = calibration.calibration_curve(is_positive, scores, n_bins=10, strategy="quantile")
        return "", mean, share
    toward = -scores if opposed else scores
    if kind == "roc":
        false, true, _ = metrics.roc_curve(is_positive, toward)
        return f" (AUC = {metrics.auc(false, true):.2f})", false, true
    precision, recall, _ = metrics.precision_recall_curve(is_positive, toward)
    return f" (AP = {metrics.average_precision_score(is_positive, toward):.2f})", recall, precision


def _point(kind: str, scores: Floats, is_positive: Flags, cut: float, *, opposed: bool) -> tuple[float, float]:
    """Where a cut is on a curve; beyond all scores its precision is 1."""
    taken = scores <= cut if opposed else scores >= cut
    recall = float(taken[is_positive].mean())
    if kind == "roc":
        return float(taken[~is_positive].mean()), recall
    return recall, float(is_positive[taken].mean()) if taken.any() else 1.0


def _figures_of(raters: Agreement) -> Iterator[tuple[str, int, str, Estimate]]:
    """The defined figures of each pair of raters, and of all: raters, units, name, and figure."""
    every = "all" if len(raters.pairs) != 1 else f"{raters.pairs[0].first} × {raters.pairs[0].second}"
    parts = [(f"{pair.first} × {pair.second}", pair.n, pair, KAPPAS) for pair in raters.pairs]
    for both, n, of, names in [*parts, (every, raters.n_units, raters, ALPHAS)]:
        found = [(name, getattr(of, name)) for name in names]
        yield from ((both, n, name, figure) for name, figure in found if not math.isnan(figure.value))


def _valued(estimate: Estimate) -> str:
    bounds = "" if math.isnan(estimate.low) else f" {interval_of(estimate.low, estimate.high)}"
    return (
        number(estimate.value)
        if math.isnan(estimate.value)
        else f"{number(estimate.value)}{bounds}{mark_of(estimate.note)}"
    )
