"""Exact histograms of the scores of each metric, printed as lines of block characters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fastmetrics.base.display import BLOCKS, Grid, ShownMapping, number
from fastmetrics.base.input_columns import listed
from fastmetrics.base.options import Whole, argument
from fastmetrics.results.runs.declared_metrics import declared_bounds
from fastmetrics.results.runs.open_runs import open_run
from fastmetrics.results.runs.score_run import ScoreRun, shared_metrics

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


@dataclass(frozen=True)
class Histograms(ShownMapping[Histogram], of="metrics"):
    """The histogram of each metric, by name; prints one line per metric."""

    scores: str
    metrics: Mapping[str, Histogram]

    def grids(self) -> list[Grid]:
        """One line per metric."""
        rows = [
            (
                histogram.metric,
                *(
                    (number(histogram.edges[0]), histogram.drawn(), number(histogram.edges[-1]))
                    if histogram.n
                    else ("–", "", "–")
                ),
                number(histogram.n),
            )
            for histogram in self.metrics.values()
        ]
        return [Grid(("metric", "from", "", "to", "n"), rows)]

    def remarks(self) -> Sequence[str]:
        """The meaning of the blocks."""
        bins = max((len(histogram.counts) for histogram in self.metrics.values()), default=0)
        return [f"{self.scores}: exact counts in {bins} bins of equal width; · is an empty bin"]

    def to_dict(self) -> dict[str, Any]:
        """``{"histograms": [{"metric", "n", "n_missing", "edges", "counts"}, …]}``."""
        return {"histograms": [asdict(histogram) for histogram in self.metrics.values()]}


def histograms(scores: Any, *, metrics: Sequence[str] | str | None = None, bins: int = 20) -> Histograms:
    """Histograms of the scores of a run, for each metric, with ``bins`` bins of equal width.

    For a metric with finite bounds, the bins cover the bounds, so that runs can be compared; otherwise they cover the
    range from the lowest to the highest score.  A bin includes its lower edge, the last bin also its upper edge, as in
    ``numpy.histogram``; a range in which float64 has fewer than ``bins`` numbers is widened.  ``scores`` is a score
    file, folder, address or table; one metric is in memory at a time.

    Parameters:

    - ``scores``: A score file, folder, address or table.
    - ``metrics``: Only these metrics: token_f1,mrr.
    - ``bins``: Number of bins of a histogram.

    >>> import fastmetrics as fm
    >>> found = fm.histograms({"token_f1": [0.0, 0.1, 0.5, 0.9, 1.0, None]}, bins=2)
    >>> found["token_f1"].counts, found["token_f1"].n_missing, found["token_f1"].drawn()
    ([2, 3], 1, '▆█')

    Raises ``UnknownNameError`` for an unknown metric, ``OptionError`` for bins not from 1 to 1,000.
    """
    argument("bins", bins, Whole(1, 1_000))
    run = open_run(scores)
    names = shared_metrics([run], listed(metrics))
    run = run.by_column(names)
    return Histograms(run.name, {name: _histogram(name, run, bins) for name in names})


_LARGEST = float(np.finfo(np.float64).max)


def _histogram(name: str, run: ScoreRun, bins: int) -> Histogram:
    values = run.values(name)
    finite = values[np.isfinite(values)]
    missing = len(values) - len(finite)
    if not len(finite):
        return Histogram(name, 0, missing, [], [0] * bins)
    low, high = declared_bounds([name], run.declared).get(name, (-math.inf, math.inf))
    if not (math.isfinite(low) and math.isfinite(high) and low <= finite.min() and finite.max() <= high):
        low, high = float(finite.min()), float(finite.max())
    scale = 1.0 if math.isfinite(high - low) else 4.0  # the width of the widest range overflows float64
    counts, edges = np.histogram(finite / scale, bins, _divisible(low / scale, high / scale, bins))
    return Histogram(name, len(finite), missing, (edges * scale).tolist(), counts.tolist())


def _divisible(low: float, high: float, bins: int) -> tuple[float, float]:
    """The range; widened if float64 has too few numbers in it for ``bins`` bins, as from 1e300 to 1e300."""
    if low == high:
        low, high = low - 0.5, high + 0.5  # as numpy.histogram
    if (np.diff(np.linspace(low, high, bins + 1)) > 0).all():
        return low, high
    room = 2.0 * bins * math.ulp(max(abs(low), abs(high)))
    return max(low - room, -_LARGEST), min(high + room, _LARGEST)
