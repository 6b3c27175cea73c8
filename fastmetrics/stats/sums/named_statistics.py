"""Statistics of a column by name, in addition to mean, standard deviation and extremes: the sum, and percentiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fastmetrics.base.errors import UnknownNameError, shown
from fastmetrics.stats.sums.exact_sums import State
from fastmetrics.stats.sums.quantiles import quantiles

SUM = "sum"


def percentiles(statistics: Sequence[str]) -> dict[str, float]:
    """The share of values below each percentile among the ``statistics``: 0.95 for ``p95``.

    >>> percentiles(["p50", "sum", "p99.9"])
    {'p50': 0.5, 'p99.9': 0.9990000000000001}

    Raises ``UnknownNameError`` for an unknown statistic.
    """
    return {name: _share(name) for name in statistics if name != SUM}


def _share(name: str) -> float:
    try:
        percent = float(name.removeprefix("p"))
    except ValueError:
        percent = math.nan
    if not name.startswith("p") or not 0 <= percent <= 100:
        raise UnknownNameError(f"unknown statistic {shown(name)}; known: sum, and p0 to p100, as in p50 or p99.9")
    return percent / 100


def named_statistics(
    state: State, statistics: Sequence[str], batches: Callable[[], Iterable[Any]], budget: int = 1 << 22
) -> dict[str, float]:
    """The ``statistics`` by name, of the column accumulated in ``state``; ``batches`` returns its values."""
    shares = percentiles(statistics)
    results = quantiles(batches, list(shares.values()), budget).tolist() if shares else []
    values = dict(zip(shares, results, strict=True))
    return {name: state.sum if name == SUM else values[name] for name in statistics}
