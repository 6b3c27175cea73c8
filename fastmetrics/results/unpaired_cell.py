"""One metric over one segment of runs that share no rows: tests of two independent samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.declaration.metric import Better
from fastmetrics.results.compared_cell import margin_tests
from fastmetrics.results.compared_pair import Compared
from fastmetrics.results.how_to_compare import HowToCompare
from fastmetrics.stats.moments import exact_mean
from fastmetrics.stats.sample import Bounds, Sample
from fastmetrics.stats.unpaired_tests import permutation_p, welch_interval, welch_p, welch_spread


@dataclass(frozen=True)
class UnpairedCell:
    """One metric in one segment, with a row of scores for each system, NaN for the rows of other systems."""

    metric: str
    segment: str | None
    better: Better
    scores: Floats
    clusters: Ints | None
    bounds: Bounds | None

    def compared(self, systems: Sequence[str], how: HowToCompare) -> Iterator[Compared]:
        """The comparisons of every pair of systems, one for each test."""
        samples = [self._sample(scores) for scores in self.scores]
        for a, b in combinations(range(len(systems)), 2):
            yield from self._pair((systems[a], systems[b]), samples[a], samples[b], how)

    def _sample(self, scores: Floats) -> Sample:
        known = ~np.isnan(scores)
        return Sample.of(scores[known], None if self.clusters is None else self.clusters[known], self.bounds)

    def _pair(self, names: tuple[str, str], first: Sample, second: Sample, how: HowToCompare) -> Iterator[Compared]:
        from scipy.special import stdtrit

        interval, spread = welch_interval(first, second, how.confidence), welch_spread(first, second)
        delta, detectable = second.mean - first.mean, math.nan
        if spread.error > 0:
            quantiles = stdtrit(spread.freedom, 1 - how.corrected_alpha / 2) + stdtrit(spread.freedom, 0.8)
            detectable = float(quantiles * spread.error)
        for test in how.tests:
            p = (
                welch_p(first, second)
                if test == "welch"
                else permutation_p(first, second, how.resamples, how.seed, how.threads)
            )
            yield Compared(
                metric=self.metric,
                baseline=names[0],
                other=names[1],
                segment=self.segment,
                n_paired=0,
                n_only_baseline=first.n,
                n_only_other=second.n,
                mean_baseline=first.mean,
                mean_other=second.mean,
                delta=delta,
                low=interval.low,
                high=interval.high,
                interval=interval.kind,
                interval_note=interval.note,
                n_clusters=None
                if first.sizes is None or second.sizes is None
                else len(first.sizes) + len(second.sizes),
                d_z=math.nan,
                wins=None,
                ties=None,
                losses=None,
                test=test,
                p=p,
                p_corrected=p,
                detectable=detectable,
                all_baseline=exact_mean(first.values),
                all_other=exact_mean(second.values),
                **margin_tests(delta, spread, self.better, how.margin),
            )
