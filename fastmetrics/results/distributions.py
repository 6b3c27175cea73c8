"""Correlations between the metrics of a run, and exact histograms of their scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.column_names import listed
from fastmetrics.base.display import BLOCKS, Grid, ShownMapping, ShownSequence, lines_of, plain
from fastmetrics.base.drawing import MOST, Bars, Picture, Plotted, label, left_out
from fastmetrics.base.errors import ColumnError, InputError
from fastmetrics.base.notes import Figure, Note, said
from fastmetrics.base.specs import Better
from fastmetrics.results.opening_scores import open_scores
from fastmetrics.results.score_columns import declared_better, declared_bounds
from fastmetrics.results.score_table import ScoreTable, shared_metrics
from fastmetrics.stats.association import correlate

# Correlations between the metrics of a run.


_SHOWN = 10
"""Number of pairs in each printed table."""


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
class Correlations(ShownSequence[MetricPair], of="pairs"):
    """The pairs of a run's metrics, largest disagreement first; prints as tables."""

    scores: str
    pairs: Sequence[MetricPair]
    better: Mapping[str, Better]

    def _name(self, metric: str) -> str:
        return f"{metric} (−)" if self.better.get(metric) == "lower" else metric

    def grids(self) -> list[Grid]:
        """The pairs with the largest disagreement, and those with the largest agreement."""
        defined = [pair for pair in self.pairs if not math.isnan(pair.agreement)]
        first = defined[: 2 * _SHOWN if len(defined) <= 2 * _SHOWN else _SHOWN]
        last = defined[: -_SHOWN - 1 : -1] if len(defined) > len(first) else []
        return [
            lines_of(
                *(pairs, (head, lambda pair: self._name(pair.a)), ("", lambda pair: self._name(pair.b))),
                *("n", "Pearson=pearson", "Spearman=spearman"),
            )
            for head, pairs in {"least alike": first, "most alike": last}.items()
            if pairs or head == "least alike"
        ]

    def remarks(self) -> Sequence[str]:
        """The meaning of the sign, and the number of omitted pairs."""
        undefined = sum(math.isnan(pair.agreement) for pair in self.pairs)
        return said(
            Note("pairs", scores=self.scores, n=len(self.pairs)),
            "lower" in self.better.values() and Note("lower_is_better"),
            undefined and Note("undefined_correlations", n=undefined),
        )

    def record(self) -> Sequence[Figure]:
        """Spearman's ρ of each pair."""
        return [Figure(f"{pair.a}, {pair.b}", pair.spearman, n=pair.n) for pair in self.pairs]


def correlations(scores: shared.Scores, *, metrics: shared.OnlyMetrics = None) -> Correlations:
    """Correlations between the metrics of a run over its rows, the largest disagreement first.

    For every pair of ``metrics`` (by default all): Pearson's r and Spearman's ρ over the rows where both have a finite
    score; NaN if one is constant there.  ``agreement`` is ρ, with the sign reversed if lower is better for one of the
    two, so that metrics that rank the rows in opposite order come first.  ``scores`` is a score file, folder, address
    or table.

    >>> import fastmetrics as fm
    >>> scores = {"token_f1": [0.1, 0.5, 0.9], "rougeL_f1": [0.2, 0.4, 0.8], "hallucination": [0.9, 0.1, 0.2]}
    >>> [(one.a, one.b, round(one.agreement, 2)) for one in fm.results.correlations(scores)]
    [('token_f1', 'hallucination', 0.5), ('rougeL_f1', 'hallucination', 0.5), ('token_f1', 'rougeL_f1', 1.0)]

    Raises ``ColumnError`` for fewer than two metrics, ``UnknownNameError`` for an unknown metric.
    """
    run = open_scores(scores, asked=listed(metrics))
    names = shared_metrics([run], listed(metrics))
    if len(names) < 2:
        raise ColumnError(f"{run.name} has only scores of {names[0]!r}; correlations need at least two metrics")
    loaded = run.by_column(names)
    better = {name: way for name, way in declared_better(names, run.declared).items() if way is not None}
    pairs = []
    for found in correlate([loaded.values(name) for name in names]):
        a, b = names[found.a], names[found.b]
        sign = -1 if (better.get(a) == "lower") != (better.get(b) == "lower") else 1
        pairs.append(MetricPair(a, b, found.n, found.pearson, found.spearman, sign * found.spearman))
    pairs.sort(key=lambda pair: (math.isnan(pair.agreement), pair.agreement))
    return Correlations(run.name, pairs, better)


# Exact histograms of the scores of each metric, printed as lines of block characters.


BINS = 20
"""Number of bins of a histogram."""


@dataclass(frozen=True)
class Histogram:
    """Counts of the ``n`` finite scores of a metric in each bin: [edge, next edge), the last one closed."""

    metric: str
    n: int
    n_missing: int
    """Rows without a finite score, for any reason."""
    edges: Sequence[float]
    counts: Sequence[int]

    def drawn(self) -> str:
        """One block per bin, with a height relative to the largest count; · for an empty bin."""
        most = max(self.counts, default=0)
        return "".join(BLOCKS[math.ceil(count / most * len(BLOCKS)) - 1] if count else "·" for count in self.counts)


_TITLE = 28
"""The characters of a line in the title of a chart beside others."""


@dataclass(frozen=True)
class Histograms(ShownMapping[Histogram], Plotted, of="metrics"):
    """The histogram of each metric, by name; prints one line per metric."""

    scores: str
    metrics: Mapping[str, Histogram]

    def grids(self) -> list[Grid]:
        """One line per metric."""
        ends = (lambda one: one.edges[0] if one.n else None), (lambda one: one.edges[-1] if one.n else None)
        drawn = ("", lambda one: one.drawn() if one.n else "")
        return [lines_of(self.metrics.values(), "metric", ("from", ends[0]), drawn, ("to", ends[1]), "n")]

    def remarks(self) -> Sequence[str]:
        """The meaning of the blocks."""
        return [Note("blocks", scores=self.scores, bins=BINS)]

    def picture(self) -> Picture:
        """A histogram a metric."""
        some = list(self.metrics.values())[:MOST]
        if not some:
            raise InputError(f"{self.scores}: no scores to draw")
        panels = {
            f"{label(one.metric)}, n = {one.n:,}": (one.edges, one.counts) if one.n else ([0.0], []) for one in some
        }
        return Bars(panels=panels, notes=left_out(list(self.metrics), "metrics"))

    def records(self) -> Sequence[Mapping[str, Any]]:
        """One row per metric and bin: its lower and upper edge, and its count."""
        return [
            {"metric": each.metric, "low": low, "high": high, "count": count}
            for each in self.metrics.values()
            for low, high, count in zip(each.edges, each.edges[1:], each.counts, strict=False)
        ]

    def to_dict(self) -> dict[str, Any]:
        """``{"histograms": [{"metric", "n", "n_missing", "edges", "counts"}, …]}``."""
        return {"histograms": plain(list(self.metrics.values()))}


def histograms(scores: shared.Scores, *, metrics: shared.OnlyMetrics = None) -> Histograms:
    """Histograms of the scores of a run, for each metric, with 20 bins of equal width.

    For a metric with finite bounds, the bins cover the bounds, so that runs can be compared; otherwise they cover the
    range from the lowest to the highest score.  A bin includes its lower edge, the last bin also its upper edge, as in
    ``numpy.histogram``; a range in which float64 has fewer than 20 numbers is widened.  ``scores`` is a score file,
    folder, address or table; one metric is in memory at a time.

    >>> import fastmetrics as fm
    >>> found = fm.results.histograms({"token_f1": [0.0, 0.1, 0.1, 0.5, 0.9, 1.0, None]})
    >>> found["token_f1"].drawn(), found["token_f1"].counts[2], found["token_f1"].n_missing
    ('▄·█·······▄·······▄▄', 2, 1)

    Raises ``UnknownNameError`` for an unknown metric.
    """
    run = open_scores(scores, asked=listed(metrics))
    names = shared_metrics([run], listed(metrics))
    run = run.by_column(names)
    return Histograms(run.name, {name: _with_rejected(histograms_of(name, [run])[0], run) for name in names})


def _with_rejected(one: Histogram, run: ScoreTable) -> Histogram:
    return replace(one, n_missing=one.n_missing + run.n_rejected)


_LARGEST = float(np.finfo(np.float64).max)


def histograms_of(metric: str, runs: Sequence[ScoreTable]) -> list[Histogram]:
    """The histogram of a metric in each of several runs, over the same bins; without scores where a run lacks it."""
    columns = [run.values(metric) if metric in run.scores else np.empty(0) for run in runs]
    finite = [values[np.isfinite(values)] for values in columns]
    ends = [(float(values.min()), float(values.max())) for values in finite if len(values)]
    edges: list[float] = []
    if ends:
        least, most = min(low for low, _ in ends), max(high for _, high in ends)
        low, high = declared_bounds([metric], runs[0].declared).get(metric, (-math.inf, math.inf))
        if not (math.isfinite(low) and math.isfinite(high) and low <= least and most <= high):
            low, high = least, most
        scale = 1.0 if math.isfinite(high - low) else 4.0  # the width of the widest range overflows float64
        bounds = _divisible(low / scale, high / scale)
        edges = (np.histogram_bin_edges(np.empty(0), BINS, bounds) * scale).tolist()
    return [
        Histogram(
            metric,
            len(some),
            len(values) - len(some),
            edges if len(some) else [],
            np.histogram(some / scale, BINS, bounds)[0].tolist() if len(some) else [0] * BINS,
        )
        for values, some in zip(columns, finite, strict=True)
    ]


def _divisible(low: float, high: float) -> tuple[float, float]:
    """The range; widened if float64 has too few numbers in it for the bins, as from 1e300 to 1e300."""
    if low == high:
        low, high = low - 0.5, high + 0.5  # as numpy.histogram
    if (np.diff(np.linspace(low, high, BINS + 1)) > 0).all():
        return low, high
    room = 2.0 * BINS * math.ulp(max(abs(low), abs(high)))
    return max(low - room, -_LARGEST), min(high + room, _LARGEST)
