"""Correlations between the metrics of a run, and the RAG project's paired views."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Floats
from fastmetrics.base.display import Grid, ShownSequence, number
from fastmetrics.base.errors import ColumnError
from fastmetrics.base.input_columns import listed
from fastmetrics.base.specs import Better
from fastmetrics.results.runs.declared_metrics import declared_better
from fastmetrics.results.runs.open_runs import open_run
from fastmetrics.results.runs.score_run import shared_metrics
from fastmetrics.stats.association import correlate

_SHOWN = 10
"""Number of pairs in each printed table."""

VIEWS = (
    (
        ("judge_faithfulness", "judge_answer_faithfulness", "overlap_faithfulness", "grounding_overlap"),
        ("token_f1", "exact_match(normalize='plain')", "exact_match"),
    ),
    (("total_tokens", "latency_ms"), ("abstained",)),
)
"""The RAG project's paired views: faithfulness beside correctness, and cost beside abstention."""


@dataclass(frozen=True)
class MetricPair:
    """Two metrics over the ``n`` rows where both have a finite score; NaN where undefined."""

    a: str
    b: str
    n: int
    pearson: float
    spearman: float
    agreement: float
    """``spearman``, with the sign reversed if lower is better for one of the two; −1 for opposite rankings of rows."""


@dataclass(frozen=True)
class PairedView:
    """The mean of one metric where another, between 0 and 1, is at most 0.5 (``low``) and above (``high``)."""

    a: str
    b: str
    n_low: int
    mean_low: float
    n_high: int
    mean_high: float


@dataclass(frozen=True)
class Correlations(ShownSequence[MetricPair], of="pairs"):
    """The pairs of a run's metrics, largest disagreement first; prints as tables."""

    scores: str
    pairs: Sequence[MetricPair]
    views: Sequence[PairedView]
    better: Mapping[str, Better]

    def _name(self, metric: str) -> str:
        return f"{metric} (−)" if self.better.get(metric) == "lower" else metric

    def grids(self) -> list[Grid]:
        """The pairs with the largest disagreement, those with the largest agreement, and the paired views."""
        defined = [pair for pair in self.pairs if not math.isnan(pair.agreement)]
        first = defined[: max(_SHOWN, 2 * _SHOWN if len(defined) <= 2 * _SHOWN else _SHOWN)]
        grids = [Grid(("least alike", "", "n", "Pearson", "Spearman"), [self._line(pair) for pair in first])]
        if len(defined) > len(first):
            last = defined[: -_SHOWN - 1 : -1]
            grids.append(Grid(("most alike", "", "n", "Pearson", "Spearman"), [self._line(pair) for pair in last]))
        views = [
            (view.a, view.b, f"{number(view.mean_low)} ({view.n_low:,})", f"{number(view.mean_high)} ({view.n_high:,})")
            for view in self.views
        ]
        return [*grids, *([Grid(("mean (rows) of", "where", "≤ 0.5", "> 0.5"), views)] if views else [])]

    def _line(self, pair: MetricPair) -> tuple[str, ...]:
        return self._name(pair.a), self._name(pair.b), number(pair.n), number(pair.pearson), number(pair.spearman)

    def remarks(self) -> Sequence[str]:
        """The meaning of the sign, and the number of omitted pairs."""
        notes = [f"{self.scores}: {len(self.pairs):,} pairs of metrics, each over the rows with both scores"]
        if any(way == "lower" for way in self.better.values()):
            notes.append("(−) lower is better: −1 is full agreement with a metric where higher is better")
        constant = sum(math.isnan(pair.agreement) for pair in self.pairs)
        return [
            *notes,
            *([f"{constant:,} pairs are undefined: a score is constant, or there are too few rows"] * (constant > 0)),
        ]

    def to_arrow(self) -> pa.Table:
        """One row per pair."""
        types = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
        schema = pa.schema([(field.name, types[str(field.type)]) for field in fields(MetricPair)])
        return pa.Table.from_pylist([asdict(pair) for pair in self.pairs], schema)

    def to_dict(self) -> dict[str, Any]:
        """``{"pairs": [{"a", "b", "n", "pearson", "spearman", "agreement"}, …], "views": […], "notes": […]}``."""
        pairs, views = ([asdict(entry) for entry in some] for some in (self.pairs, self.views))
        return {"pairs": pairs, "views": views, "notes": list(self.remarks())}


def correlations(scores: Any, *, metrics: Sequence[str] | str | None = None) -> Correlations:
    """Correlations between the metrics of a run over its rows, the largest disagreement first.

    For every pair of ``metrics`` (by default all): Pearson's r and Spearman's ρ over the rows where both have a finite
    score; NaN if one is constant there.  ``agreement`` is ρ, with the sign reversed if lower is better for one of the
    two, so that metrics that rank the rows in opposite order come first.  If the run has the metrics, paired views
    follow: faithfulness and overlap beside F1 and exact match (a faithful wrong answer had bad contexts), tokens
    and latency beside abstention.

    ``scores`` is a score file, folder, address or table.

    Source: the QA framework and the RAG project, "Paired Analysis".

    Parameters:

    - ``scores``: A score file, folder, address or table.
    - ``metrics``: Only these metrics: token_f1,mrr.

    >>> import fastmetrics as fm
    >>> scores = {"token_f1": [0.1, 0.5, 0.9], "rougeL_f1": [0.2, 0.4, 0.8], "hallucination": [0.9, 0.1, 0.2]}
    >>> [(one.a, one.b, round(one.agreement, 2)) for one in fm.correlations(scores)]
    [('token_f1', 'hallucination', 0.5), ('rougeL_f1', 'hallucination', 0.5), ('token_f1', 'rougeL_f1', 1.0)]

    Raises ``ColumnError`` for fewer than two metrics, ``UnknownNameError`` for an unknown metric.
    """
    run = open_run(scores)
    names = shared_metrics([run], listed(metrics))
    if len(names) < 2:
        raise ColumnError(f"{run.name} has only scores of {names[0]!r}; correlations need at least two metrics")
    loaded = run.by_column(names)
    columns = {name: loaded.values(name) for name in names}
    better: dict[str, Better] = {
        name: way for name, way in declared_better(names, run.declared).items() if way is not None
    }
    pairs = []
    for correlation in correlate(list(columns.values())):
        a, b = names[correlation.a], names[correlation.b]
        turned = (better.get(a) == "lower") != (better.get(b) == "lower")
        pairs.append(
            MetricPair(
                a,
                b,
                correlation.n,
                correlation.pearson,
                correlation.spearman,
                -correlation.spearman if turned else correlation.spearman,
            )
        )
    pairs.sort(key=lambda pair: (math.isnan(pair.agreement), pair.agreement))
    return Correlations(run.name, pairs, list(_views(columns)), better)


def _views(columns: Mapping[str, Floats]) -> Iterator[PairedView]:
    for firsts, seconds in VIEWS:
        for a in firsts:
            for b in seconds:
                if a in columns and b in columns:
                    both = np.isfinite(columns[a]) & np.isfinite(columns[b])
                    low, high = both & (columns[b] <= 0.5), both & (columns[b] > 0.5)
                    yield PairedView(
                        a, b, int(low.sum()), _mean(columns[a][low]), int(high.sum()), _mean(columns[a][high])
                    )


def _mean(values: Floats) -> float:
    return float(np.mean(values)) if len(values) else math.nan
