"""One metric over one segment of rows: tests of every pair of systems, and a ranking of the systems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.core.precision import rounding_error
from fastmetrics.declaration.metric import Better
from fastmetrics.results.compared_pair import Compared, Ranking
from fastmetrics.results.how_to_compare import HowToCompare
from fastmetrics.stats.equivalence import equivalence_p, not_worse_p
from fastmetrics.stats.mean_interval import mean_interval
from fastmetrics.stats.moments import exact_mean
from fastmetrics.stats.multiple_tests import compact_letters
from fastmetrics.stats.paired_tests import detectable, effect_size, p_value
from fastmetrics.stats.sample import Bounds, Sample, Spread
from fastmetrics.stats.tukey import tukey_p


def margin_tests(delta: float, spread: Spread, better: Better, margin: float | None) -> dict[str, Any]:
    """The p of equivalence within the margin, and of not being worse by more; nothing without a margin."""
    if margin is None:
        return {}
    gain = -delta if better == "lower" else delta
    return {
        "p_equivalent": equivalence_p(delta, spread, margin),
        "p_not_worse": not_worse_p(gain, spread, margin),
    }


@dataclass(frozen=True)
class Cell:
    """One metric in one segment, with a row of scores for each system."""

    metric: str
    segment: str | None
    better: Better
    scores: Floats
    clusters: Ints | None
    bounds: Bounds | None
    rounding: float = rounding_error(None)
    """The relative error of differences of the scores, by their type."""

    def compared(self, systems: Sequence[str], how: HowToCompare) -> Iterator[Compared]:
        """The comparisons of every pair of systems, one for each test."""
        for a, b in combinations(range(len(systems)), 2):
            yield from self._pair(systems[a], systems[b], self.scores[a], self.scores[b], how)

    def _pair(self, first: str, second: str, a: Floats, b: Floats, how: HowToCompare) -> Iterator[Compared]:
        has_a, has_b = ~np.isnan(a), ~np.isnan(b)
        both = has_a & has_b
        x, y = a[both], b[both]
        clusters = None if self.clusters is None else self.clusters[both]
        differences = Sample.between(x, y, clusters, self.bounds, self.rounding)
        drawn: dict[str, Any] = {"resamples": how.bootstrap, "seed": how.seed, "threads": how.threads}
        found = mean_interval(differences, how.confidence, how.interval, **drawn)
        rises, falls = int((y > x).sum()), int((y < x).sum())
        wins, losses = (falls, rises) if self.better == "lower" else (rises, falls)
        for test in how.tests:
            fits = test != "mcnemar" or bool(np.isin(np.concatenate([x, y]), (0.0, 1.0)).all())
            drawn_p = (how.resamples, how.seed, how.threads, how.confidence)
            p = p_value(test, differences, *drawn_p) if fits else math.nan
            yield Compared(
                metric=self.metric,
                baseline=first,
                other=second,
                segment=self.segment,
                n_paired=len(x),
                n_only_baseline=int((has_a & ~has_b).sum()),
                n_only_other=int((has_b & ~has_a).sum()),
                mean_baseline=exact_mean(x),
                mean_other=exact_mean(y),
                delta=differences.mean,
                low=found.low,
                high=found.high,
                interval=found.kind,
                interval_note=found.note,
                n_clusters=None if differences.sizes is None else len(differences.sizes),
                d_z=effect_size(differences),
                wins=wins,
                ties=len(x) - wins - losses,
                losses=losses,
                test=test,
                p=p,
                p_corrected=p,
                detectable=detectable(differences, how.corrected_alpha),
                all_baseline=exact_mean(a[has_a]),
                all_other=exact_mean(b[has_b]),
                **margin_tests(differences.mean, differences.spread, self.better, how.margin),
            )

    def ranking(self, systems: Sequence[str], how: HowToCompare) -> Ranking:
        """The systems sorted by their means over the rows where all have a score, with letters by Tukey's test."""
        known = ~np.isnan(self.scores).any(axis=0)
        table = np.ascontiguousarray(self.scores[:, known].T)
        clusters = None if self.clusters is None else self.clusters[known]
        means = [exact_mean(column) for column in table.T]
        sign = 1 if self.better == "lower" else -1
        order = sorted(range(len(systems)), key=lambda at: (sign * means[at] if len(table) else 0, at))
        p = tukey_p(table, how.resamples, how.seed, how.threads, clusters)
        alpha = 1 - how.confidence
        letters = compact_letters(len(order), lambda one, other: bool(p[order[one], order[other]] <= alpha))
        return Ranking(
            metric=self.metric,
            n=len(table),
            systems=[systems[at] for at in order],
            means=[means[at] for at in order],
            letters=letters,
            p=[[float(p[one, other]) for other in order] for one in order],
        )
