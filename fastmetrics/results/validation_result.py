"""The results of comparing scores with human labels: figures, notes and printed tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import pyarrow as pa

from fastmetrics.core.display import Grid, Shown, number
from fastmetrics.declaration.metric import Better
from fastmetrics.stats.agreement import Agreement
from fastmetrics.stats.association import Association, Decision, Estimate

_ESTIMATES = tuple(f.name for f in fields(Association) if f.type == "Estimate")
_DECISION = tuple(f.name for f in fields(Decision))
_FEW = 20


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
    """The number of groups of labelled rows, which are resampled whole."""
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
        of = "" if self.n_clusters is None else f"; {self.n_clusters:,} groups of {self.cluster!r} resampled whole"
        notes.append(f"in brackets: {self.confidence * 100:g} % confidence intervals{of}")
        if self.n_clusters is not None and self.n_clusters < _FEW:
            notes.append(f"fewer than {_FEW} groups: the intervals are too narrow")
        if self.positive is None:
            notes.append("the label is graded: AUC and threshold need a threshold for positive labels")
        else:
            notes.append(
                f"labels of at least {self.positive:g} are positive; a threshold chosen on these rows is optimistic"
            )
            low = ", ".join(name for name, metric in self.metrics.items() if metric.opposed)
            notes += [f"low scores count as positive, by the declared directions: {low}"] if low else []
        return [*notes, *self.left_out]

    def to_dict(self) -> dict[str, Any]:
        """Everything as nested dictionaries of plain values."""
        return {**asdict(self), "notes": self.notes}

    def to_arrow(self) -> pa.Table:
        """One row per metric: n, n_no_score, each figure with its ``_low`` and ``_high``, the decision's figures."""
        rows = []
        for name, metric in self.metrics.items():
            row = {key: getattr(metric, key) for key in ("n", "n_no_score", "better", "opposed")} | {"metric": name}
            for figure in _ESTIMATES:
                estimate = getattr(metric, figure)
                row |= {figure: estimate.value, f"{figure}_low": estimate.low, f"{figure}_high": estimate.high}
            rows.append(row | asdict(metric.decision))
        names = [f"{figure}{end}" for figure in _ESTIMATES for end in ("", "_low", "_high")]
        types = [("metric", pa.string()), ("n", pa.int64()), ("n_no_score", pa.int64())]
        types += [("better", pa.string()), ("opposed", pa.bool_())]
        return pa.Table.from_pylist(rows, pa.schema([*types, *((name, pa.float64()) for name in (*names, *_DECISION))]))

    def remarks(self) -> Sequence[str]:
        """The notes."""
        return self.notes

    def grids(self) -> list[Grid]:
        """The figures, the decisions, and the agreement of raters."""
        shown = [name for name in _ESTIMATES if self.positive is not None or name not in ("auc", "f1")]
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
