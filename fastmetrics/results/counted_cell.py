"""One corpus metric over one segment of rows: tests of every pair of systems, resampled from the counts of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from fastmetrics.core.arrays import Flags, Ints
from fastmetrics.results.compared_pair import Compared
from fastmetrics.results.how_to_compare import HowToCompare
from fastmetrics.stats.paired_counts import Formula, PairedCounts, counts_interval, swap_p
from fastmetrics.stats.sample import Bounds


@dataclass(frozen=True)
class CountedCell:
    """One corpus metric in one segment: the counts of each system's rows, and which rows it has."""

    metric: str
    segment: str | None
    counts: Ints
    has: Flags
    formula: Formula
    clusters: Ints | None
    bounds: Bounds | None

    def compared(self, systems: Sequence[str], how: HowToCompare) -> Iterator[Compared]:
        """The comparisons of every pair of systems, one for each test."""
        for a, b in combinations(range(len(systems)), 2):
            yield from self._pair((a, b), (systems[a], systems[b]), how)

    def _pair(self, places: tuple[int, int], names: tuple[str, str], how: HowToCompare) -> Iterator[Compared]:
        has_a, has_b = (self.has[place] for place in places)
        both = has_a & has_b
        first, second = (self.counts[place, both] for place in places)
        pair = PairedCounts.of(first, second, self.formula, None if self.clusters is None else self.clusters[both])
        mean_a, mean_b = pair.values
        drawn: dict[str, Any] = {"resamples": how.bootstrap, "seed": how.seed, "threads": how.threads}
        interval = counts_interval(pair, how.confidence, how.interval, bounds=self.bounds, **drawn)
        for test in how.tests:
            p = swap_p(pair, how.resamples, how.seed, how.threads) if test == "fisher" else math.nan
            yield Compared(
                metric=self.metric,
                baseline=names[0],
                other=names[1],
                segment=self.segment,
                n_paired=len(first),
                n_only_baseline=int((has_a & ~has_b).sum()),
                n_only_other=int((has_b & ~has_a).sum()),
                mean_baseline=mean_a,
                mean_other=mean_b,
                delta=mean_b - mean_a,
                low=interval.low,
                high=interval.high,
                interval=interval.kind,
                interval_note=interval.note,
                n_clusters=None if pair.sizes is None else len(pair.sizes),
                d_z=math.nan,
                wins=None,
                ties=None,
                losses=None,
                test=test,
                p=p,
                p_corrected=p,
                detectable=math.nan,
                all_baseline=self._value(places[0]),
                all_other=self._value(places[1]),
            )

    def _value(self, system: int) -> float:
        """The value over all rows of a system; NaN without rows."""
        rows = self.has[system]
        return float(self.formula(self.counts[system, rows].sum(axis=0)[None])[0]) if rows.any() else math.nan
