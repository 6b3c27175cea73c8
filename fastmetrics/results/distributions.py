"""Correlations between the metrics of a run, and exact histograms of their scores."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Floats
from fastmetrics.base.column_names import listed
from fastmetrics.base.display import BLOCKS, Grid, ShownMapping, ShownSequence, lines_of, number, plain
from fastmetrics.base.drawing import MOST, PALETTE, cells, drawn, label, left_out
from fastmetrics.base.errors import ColumnError, InputError
from fastmetrics.base.options import Whole, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.specs import Better
from fastmetrics.results.score_columns import declared_better, declared_bounds
from fastmetrics.results.score_table import ScoreTable, open_scores, shared_metrics
from fastmetrics.stats.association import correlate

# Correlations between the metrics of a run, and the RAG project's paired views.


_SHOWN = 10
"""Number of pairs in each printed table."""

VIEWS = (
    (
        ("judge_faithfulness", "judge_answer_faithfulness", "overlap_faithfulness", "grounding_overlap"),
        ("token_f1", "exact_match(tokenizer='plain')", "exact_match"),
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
        first = defined[: 2 * _SHOWN if len(defined) <= 2 * _SHOWN else _SHOWN]
        last = defined[: -_SHOWN - 1 : -1] if len(defined) > len(first) else []
        grids = [
            lines_of(
                *(pairs, (head, lambda pair: self._name(pair.a)), ("", lambda pair: self._name(pair.b))),
                *("n", ("Pearson", "pearson"), ("Spearman", "spearman")),
            )
            for head, pairs in {"least alike": first, "most alike": last}.items()
            if pairs or head == "least alike"
        ]
        low = ("≤ 0.5", lambda view: f"{number(view.mean_low)} ({view.n_low:,})")
        high = ("> 0.5", lambda view: f"{number(view.mean_high)} ({view.n_high:,})")
        views = lines_of(self.views, ("mean (rows) of", "a"), ("where", "b"), low, high)
        return [*grids, *([views] if self.views else [])]

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


def correlations(scores: shared.Scores, *, metrics: shared.OnlyMetrics = None) -> Correlations:
    """Correlations between the metrics of a run over its rows, the largest disagreement first.

    For every pair of ``metrics`` (by default all): Pearson's r and Spearman's ρ over the rows where both have a finite
    score; NaN if one is constant there.  ``agreement`` is ρ, with the sign reversed if lower is better for one of the
    two, so that metrics that rank the rows in opposite order come first.  If the run has the metrics, paired views
    follow: faithfulness and overlap beside F1 and exact match (a faithful wrong answer had bad contexts), tokens
    and latency beside abstention.

    ``scores`` is a score file, folder, address or table.

    Source: the QA framework and the RAG project, "Paired Analysis".

    >>> import fastmetrics as fm
    >>> scores = {"token_f1": [0.1, 0.5, 0.9], "rougeL_f1": [0.2, 0.4, 0.8], "hallucination": [0.9, 0.1, 0.2]}
    >>> [(one.a, one.b, round(one.agreement, 2)) for one in fm.results.correlations(scores)]
    [('token_f1', 'hallucination', 0.5), ('rougeL_f1', 'hallucination', 0.5), ('token_f1', 'rougeL_f1', 1.0)]

    Raises ``ColumnError`` for fewer than two metrics, ``UnknownNameError`` for an unknown metric.
    """
    run = open_scores(scores)
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


# Exact histograms of the scores of each metric, printed as lines of block characters.


_EMPTY = "·"


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
        return "".join(BLOCKS[math.ceil(count / most * len(BLOCKS)) - 1] if count else _EMPTY for count in self.counts)


_TITLE = 28
"""The characters of a line in the title of a chart beside others."""


@dataclass(frozen=True)
class Histograms(ShownMapping[Histogram], of="metrics"):
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
        bins = max((len(histogram.counts) for histogram in self.metrics.values()), default=0)
        return [f"{self.scores}: exact counts in {bins} bins of equal width; · is an empty bin"]

    def plot(self, figure: Any = None) -> Any:
        """The axes of a chart: a histogram a metric.

        ``figure`` is one of Matplotlib, or a part of one; by default a new one.  Raises ``InputError`` without a
        metric.
        """
        some = list(self.metrics.values())[:MOST]
        if not some:
            raise InputError(f"{self.scores}: no scores to draw")
        figure, places = cells(figure, len(some))
        for axes, histogram in zip(places, some, strict=True):
            if histogram.n:
                widths = np.diff(histogram.edges)
                axes.bar(histogram.edges[:-1], histogram.counts, widths, align="edge", color=PALETTE[0], linewidth=0)
            axes.set_title(textwrap.fill(f"{label(histogram.metric)}, n = {histogram.n:,}", _TITLE), fontsize=9)
        return drawn(figure, left_out(list(self.metrics), "metrics"))

    def records(self) -> Sequence[Mapping[str, Any]]:
        """One row per metric and bin: its lower and upper edge, and its count."""
        return [
            {"metric": each.metric, "low": low, "high": high, "count": count}
            for each in self.metrics.values()
            for (low, high), count in zip(itertools.pairwise(each.edges), each.counts, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """``{"histograms": [{"metric", "n", "n_missing", "edges", "counts"}, …]}``."""
        return {"histograms": plain(list(self.metrics.values()))}


def histograms(
    scores: shared.Scores,
    *,
    metrics: shared.OnlyMetrics = None,
    bins: Annotated[int, Help("Number of bins of a histogram.")] = 20,
) -> Histograms:
    """Histograms of the scores of a run, for each metric, with ``bins`` bins of equal width.

    For a metric with finite bounds, the bins cover the bounds, so that runs can be compared; otherwise they cover the
    range from the lowest to the highest score.  A bin includes its lower edge, the last bin also its upper edge, as in
    ``numpy.histogram``; a range in which float64 has fewer than ``bins`` numbers is widened.  ``scores`` is a score
    file, folder, address or table; one metric is in memory at a time.

    >>> import fastmetrics as fm
    >>> found = fm.results.histograms({"token_f1": [0.0, 0.1, 0.5, 0.9, 1.0, None]}, bins=2)
    >>> found["token_f1"].counts, found["token_f1"].n_missing, found["token_f1"].drawn()
    ([2, 3], 1, '▆█')

    Raises ``UnknownNameError`` for an unknown metric, ``OptionError`` for bins not from 1 to 1,000.
    """
    argument("bins", bins, Whole(1, 1_000))
    run = open_scores(scores)
    names = shared_metrics([run], listed(metrics))
    run = run.by_column(names)
    return Histograms(run.name, {name: histograms_of(name, [run], bins)[0] for name in names})


_LARGEST = float(np.finfo(np.float64).max)


def histograms_of(metric: str, runs: Sequence[ScoreTable], bins: int = 20) -> list[Histogram]:
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
        bounds = _divisible(low / scale, high / scale, bins)
        edges = (np.histogram_bin_edges(np.empty(0), bins, bounds) * scale).tolist()
    return [
        Histogram(
            metric,
            len(some),
            len(values) - len(some),
            edges if len(some) else [],
            np.histogram(some / scale, bins, bounds)[0].tolist() if len(some) else [0] * bins,
        )
        for values, some in zip(columns, finite, strict=True)
    ]


def _divisible(low: float, high: float, bins: int) -> tuple[float, float]:
    """The range; widened if float64 has too few numbers in it for ``bins`` bins, as from 1e300 to 1e300."""
    if low == high:
        low, high = low - 0.5, high + 0.5  # as numpy.histogram
    if (np.diff(np.linspace(low, high, bins + 1)) > 0).all():
        return low, high
    room = 2.0 * bins * math.ulp(max(abs(low), abs(high)))
    return max(low - room, -_LARGEST), min(high + room, _LARGEST)
