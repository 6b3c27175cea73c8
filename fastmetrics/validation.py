"""Scores held against people's labels: which metrics track them, and how far people agree among themselves."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fastmetrics.display import Grid, Shown, number, strict
from fastmetrics.errors import ColumnError, UnknownNameError
from fastmetrics.lists import listed
from fastmetrics.stats.association import Association, Decision, Estimate, associate
from fastmetrics.stats.labels import join, label_table, numbers, positive_from, ratings_of, truth_of
from fastmetrics.stats.parts import Scores, score_columns
from fastmetrics.stats.raters import Agreement, agreement

_ESTIMATES = tuple(f.name for f in fields(Association) if f.type == "Estimate")
_DECISION = tuple(f.name for f in fields(Decision))
_SCALE = 20  # a metric with no more values than this, all of them labels too, is a rater on the labels' scale


@dataclass(frozen=True)
class MetricValidation(Association):
    """One metric against the labels."""

    n_no_score: int
    """Labelled rows without a score: null, undefined or infinite; not in ``n``."""
    agreement: Agreement | None
    """Of metric and label as two raters, where the metric's values are values of the label."""


@dataclass(frozen=True)
class Validation(Shown, Mapping[str, MetricValidation]):
    """Every metric against the labels, and the agreement of the raters; prints as tables."""

    joined_by: str
    """``position``, or the column whose values tell which label belongs to which score."""
    n_rows: int
    """Rows of scores that have a row of labels."""
    n_no_label: int
    """Those whose label is missing."""
    n_only_scores: int
    """Rows of scores without a row of labels; not in ``n_rows``."""
    n_only_labels: int
    """Rows of labels without a row of scores."""
    label: str
    positive: float | None
    """Labels of at least this count as positive; None: the label is graded, and AUC, F1 and the rest undefined."""
    confidence: float
    metrics: Mapping[str, MetricValidation]
    raters: Agreement | None
    """How far the labels' own raters agree, where there are several."""

    def __getitem__(self, name: str) -> MetricValidation:
        return self.metrics[name]

    def __iter__(self) -> Any:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    @property
    def notes(self) -> list[str]:
        """How the tables were joined, what is missing, what counts as positive."""
        notes = [f"{self.n_rows:,} rows joined by {self.joined_by}; label {self.label!r}"]
        counts = {
            "without a label": self.n_no_label,
            "of the scores alone": self.n_only_scores,
            "of the labels alone": self.n_only_labels,
        }
        notes += [f"{count:,} rows {what}" for what, count in counts.items() if count]
        notes.append(f"in brackets: {self.confidence * 100:g} % confidence intervals")
        if self.positive is None:
            notes.append("the label is graded: AUC and threshold need to be told which labels are positive")
        else:
            notes.append(
                f"labels of at least {self.positive:g} are positive; a threshold found here flatters its metric"
            )
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Everything as nested dictionaries of plain values."""
        return {**asdict(self), "notes": self.notes}

    def to_json(self) -> str:
        """The dictionary as JSON: NaN becomes null, an infinity ``"Infinity"`` or ``"-Infinity"``."""
        return json.dumps(strict(self.to_dict()), ensure_ascii=False, indent=2, allow_nan=False)

    def to_arrow(self) -> pa.Table:
        """One row per metric: n, n_no_score, each figure with its ``_low`` and ``_high``, the decision's figures."""
        rows = []
        for name, metric in self.metrics.items():
            row = {"metric": name, "n": metric.n, "n_no_score": metric.n_no_score}
            for figure in _ESTIMATES:
                estimate = getattr(metric, figure)
                row |= {figure: estimate.value, f"{figure}_low": estimate.low, f"{figure}_high": estimate.high}
            rows.append(row | asdict(metric.decision))
        names = [f"{figure}{end}" for figure in _ESTIMATES for end in ("", "_low", "_high")]
        types = [("metric", pa.string()), ("n", pa.int64()), ("n_no_score", pa.int64())]
        return pa.Table.from_pylist(rows, pa.schema([*types, *((name, pa.float64()) for name in (*names, *_DECISION))]))

    def remarks(self) -> Sequence[str]:
        """The notes."""
        return self.notes

    def grids(self) -> list[Grid]:
        """The figures, the decisions, and the agreement of raters."""
        shown = [name for name in _ESTIMATES if self.positive is not None or name not in ("auc", "f1")]
        rows = [
            (name, number(m.n), *(_interval(getattr(m, figure)) for figure in shown))
            for name, m in self.metrics.items()
        ]
        grids = [Grid(("metric", "n", *shown), rows)]
        if self.positive is not None:
            decisions = [
                (name, *(number(getattr(m.decision, key)) for key in _DECISION), number(m.n_no_score))
                for name, m in self.metrics.items()
            ]
            grids.append(Grid(("metric", *_DECISION, "no score"), decisions))
        as_raters = [m.agreement for m in self.metrics.values()]
        agreements = [found for found in (*as_raters, self.raters) if found is not None]
        return [*grids, *([_agreement_grid(agreements)] if agreements else [])]


def _interval(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return number(math.nan)
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _agreement_grid(agreements: Sequence[Agreement]) -> Grid:
    header = ("raters", "n", "kappa", "linear", "quadratic", "alpha nominal", "ordinal", "interval", "ratio")
    rows: list[tuple[str, ...]] = []
    for found in agreements:
        alphas = tuple(map(number, (found.alpha_nominal, found.alpha_ordinal, found.alpha_interval, found.alpha_ratio)))
        one = len(found.pairs) == 1
        for pair in found.pairs:
            kappas = (pair.kappa, pair.kappa_linear, pair.kappa_quadratic)
            shown = (f"{pair.first} × {pair.second}", number(pair.n), *map(number, kappas))
            rows.append((*shown, *(alphas if one else ("",) * len(alphas))))
        if not one:
            rows.append(("all", number(found.n_units), "", "", "", *alphas))
    return Grid(header, rows)


def validate(
    scores: Any,
    labels: Any,
    *,
    label: str | None = None,
    raters: Sequence[str] | str = (),
    on: str | None = None,
    metrics: Sequence[str] | str | None = None,
    positive: float | None = None,
    thresholds: Mapping[str, float] | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
    threads: int | None = None,
) -> Validation:
    """Each metric of ``scores`` against people's labels: correlations, ROC AUC, best threshold, intervals, agreement.

    ``scores`` is what ``summarize`` takes; ``labels`` as well, or a sequence of labels.  Rows are matched by the column
    ``on``; by default by ``id`` if both tables have it, otherwise by position, for which the lengths must be equal.

    ``label`` names the column of labels (numbers or truth values; by default the only such column); each of its cells
    may also be a list with the labels of several people.  ``raters`` names columns with one person's labels each.  The
    label of a row that several people labelled is the mean of theirs, unless ``label`` names another column.

    Labels of at least ``positive`` count as positive; by default 1 for labels that are 0 and 1, the higher one of
    any other two, and nothing for graded labels.  ``thresholds`` fixes the threshold of some metrics.  The figures and
    their intervals are those of :func:`fastmetrics.stats.association.associate`.

    >>> found = validate({"token_f1": [0.1, 0.4, 0.35, 0.8]}, [0, 0, 1, 1], resamples=100)
    >>> found["token_f1"].auc.value
    0.75

    Raises ``ColumnError`` if no score or no clear label is there, or the tables cannot be matched; ``InputError``
    for an id that occurs twice or ids none of which is shared; ``UnknownNameError`` for a metric that the scores do
    not have.
    """
    left, right = Scores.of(scores).table(), label_table(labels)
    raters, metrics = listed(raters), listed(metrics)
    names = score_columns(left.schema)
    if not names:
        raise ColumnError(
            f"no column of scores (floating-point numbers) among {', '.join(left.column_names) or 'none'}"
        )
    for name in [*metrics, *(thresholds or {})]:
        if name not in names:
            raise UnknownNameError.of("metric", name, names)
    rows, joined_by = join(left, right, on)
    label, ratings = ratings_of(right, label, raters, joined_by)
    truth = truth_of(right, label, ratings)[rows[rows >= 0]]
    scored = left.filter(pa.array(rows >= 0))
    known = ~np.isnan(truth)
    if positive is None:
        positive = positive_from(truth[known])
    found: dict[str, MetricValidation] = {}
    for name in metrics or names:
        values = numbers(scored.column(name))
        usable = known & np.isfinite(values)
        association = associate(
            values[usable],
            truth[usable],
            positive=positive,
            threshold=(thresholds or {}).get(name),
            resamples=resamples,
            confidence=confidence,
            seed=seed,
            threads=threads,
        )
        on_scale = _on_scale(values[usable], truth[usable])
        as_rater = agreement({name: values[usable], label: truth[usable]}) if on_scale else None
        found[name] = MetricValidation(**vars(association), n_no_score=int((known & ~usable).sum()), agreement=as_rater)
    return Validation(
        joined_by=joined_by,
        n_rows=scored.num_rows,
        n_no_label=int((~known).sum()),
        n_only_scores=int((rows < 0).sum()),
        n_only_labels=right.num_rows - scored.num_rows,
        label=label,
        positive=positive,
        confidence=confidence,
        metrics=found,
        raters=agreement(ratings) if len(ratings) > 1 else None,
    )


def _on_scale(values: NDArray[np.float64], truth: NDArray[np.float64]) -> bool:
    distinct = np.unique(values)
    return 2 <= len(distinct) <= _SCALE and bool(np.isin(distinct, truth).all())
