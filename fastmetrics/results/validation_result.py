"""The results of comparing scores with human labels: figures, notes and printed tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, get_args

import pyarrow as pa

from fastmetrics.core.display import Grid, Shown, number
from fastmetrics.declaration.metric import Better
from fastmetrics.stats.agreement import Agreement, Level, PairAgreement
from fastmetrics.stats.association import Association, Decision
from fastmetrics.stats.estimate import Estimate, Interval
from fastmetrics.stats.interval_notes import MARK, interval_notes

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
    agreement: Agreement | None
    """Agreement of metric and label as two raters, if the metric's values are values of the label."""


@dataclass(frozen=True)
class Validation(Shown, Mapping[str, MetricValidation]):
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
    left_out: Sequence[str] = ()
    """The columns that could not be read, with the reasons."""

    def __getitem__(self, name: str) -> MetricValidation:
        return self.metrics[name]

    def __iter__(self) -> Any:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    @property
    def notes(self) -> list[str]:
        """How the tables were paired, missing rows, and the definition of positive."""
        notes = [f"{self.n_rows:,} rows paired by {self.joined_by}; label {self.label!r}"]
        counts = {
            "without a label": self.n_no_label,
            "only in the scores": self.n_only_scores,
            "only in the labels": self.n_only_labels,
        }
        notes += [f"{count:,} rows {what}" for what, count in counts.items() if count]
        of = "" if self.n_clusters is None else f" over {self.n_clusters:,} groups of {self.cluster!r}"
        notes += interval_notes(self._intervals(), self.confidence, of)
        if self.positive is None:
            notes.append("the label is graded: AUC and threshold need a threshold for positive labels")
        else:
            notes.append(
                f"labels of at least {self.positive:g} are positive; a threshold chosen on these rows is optimistic"
            )
            low = ", ".join(name for name, metric in self.metrics.items() if metric.opposed)
            notes += [f"low scores count as positive, by the declared directions: {low}"] if low else []
        return [*notes, *self.left_out]

    def _intervals(self) -> Iterator[tuple[str, str, str | None]]:
        """The figure, kind and note of each printed interval."""
        for metric in self.metrics.values():
            for name in self._shown():
                found = getattr(metric, name)
                yield name, found.interval, found.note
        for one in self._agreements():
            for intervals in (*(pair.intervals for pair in one.pairs), one.intervals):
                yield from ((name.replace("_", " "), found.kind, found.note) for name, found in intervals.items())

    def _shown(self) -> list[str]:
        return [name for name in _ESTIMATES if self.positive is not None or name not in ("auc", "f1")]

    def _agreements(self) -> list[Agreement]:
        as_raters = [m.agreement for m in self.metrics.values()]
        return [found for found in (*as_raters, self.raters) if found is not None]

    def to_dict(self) -> dict[str, Any]:
        """Everything as nested dictionaries of plain values."""
        return {**asdict(self), "notes": self.notes}

    def to_arrow(self) -> pa.Table:
        """One row per metric: figures with their ``_low``, ``_high`` and ``_interval``, and those of the decision."""
        rows = []
        for name, metric in self.metrics.items():
            row = {key: getattr(metric, key) for key in ("n", "n_no_score", "better", "opposed")} | {"metric": name}
            for figure in _ESTIMATES:
                estimate = getattr(metric, figure)
                row |= {figure: estimate.value, f"{figure}_low": estimate.low, f"{figure}_high": estimate.high}
                row[f"{figure}_interval"] = estimate.interval
            rows.append(row | asdict(metric.decision))
        names = [f"{figure}{end}" for figure in _ESTIMATES for end in ("", "_low", "_high")]
        types = [("metric", pa.string()), ("n", pa.int64()), ("n_no_score", pa.int64())]
        types += [("better", pa.string()), ("opposed", pa.bool_())]
        types += [(name, pa.float64()) for name in (*names, *_DECISION)]
        types += [(f"{figure}_interval", pa.string()) for figure in _ESTIMATES]
        return pa.Table.from_pylist(rows, pa.schema(types))

    def remarks(self) -> Sequence[str]:
        """The notes."""
        return self.notes

    def grids(self) -> list[Grid]:
        """The figures, the decisions, and the agreement of raters."""
        shown = self._shown()
        rows = [
            (name, m.better or "–", number(m.n), *(_interval(getattr(m, figure)) for figure in shown))
            for name, m in self.metrics.items()
        ]
        grids = [Grid(("metric", "better", "n", *shown), rows)]
        if self.positive is not None:
            decisions = [
                (name, "≤" if m.opposed else "≥", *(number(v) for v in vars(m.decision).values()), number(m.n_no_score))
                for name, m in self.metrics.items()
            ]
            grids.append(Grid(("metric", "positive", *_DECISION, "no score"), decisions))
        agreements = self._agreements()
        return [*grids, *([_agreement_grid(agreements)] if agreements else [])]


def _interval(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return number(math.nan)
    return _cell(estimate.value, Interval(estimate.low, estimate.high, estimate.interval, estimate.note))


def _cell(value: float, interval: Interval | None) -> str:
    if interval is None or math.isnan(value):
        return number(value)
    bounds = "" if math.isnan(interval.low) else f" [{interval.low:.3f}, {interval.high:.3f}]"
    return f"{value:.3f}{bounds}{'' if interval.note is None else MARK}"


def _agreement_grid(agreements: Sequence[Agreement]) -> Grid:
    """A line for each figure of each pair of raters, and of all raters."""
    rows: list[tuple[str, ...]] = []
    for found in agreements:
        for pair in found.pairs:
            label = f"{pair.first} × {pair.second}"
            rows += _figures(label, pair.n, pair, ("kappa", "kappa_linear", "kappa_quadratic"))
        label = label if len(found.pairs) == 1 else "all"
        rows += _figures(label, found.n_units, found, [f"alpha_{level}" for level in get_args(Level)])
    return Grid(("raters", "n", "agreement", "value"), rows)


def _figures(label: str, n: int, found: Agreement | PairAgreement, names: Sequence[str]) -> list[tuple[str, ...]]:
    return [
        (label, number(n), name.replace("_", " "), _cell(getattr(found, name), found.intervals.get(name)))
        for name in names
        if not math.isnan(getattr(found, name))
    ]
