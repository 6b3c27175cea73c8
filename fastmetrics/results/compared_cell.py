"""One metric over one segment of rows: tests of every pair of systems, and a ranking of the systems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.declaration.metric import Better
from fastmetrics.results.comparison_result import Compared, Ranking
from fastmetrics.stats.moments import exact_sum
from fastmetrics.stats.multiple_tests import compact_letters
from fastmetrics.stats.paired_tests import Differences, bootstrap_interval, detectable, effect_size, p_value, t_interval
from fastmetrics.stats.tukey import tukey_p


@dataclass(frozen=True)
class HowToCompare:
    """The settings of a comparison, common to all metrics, segments and pairs."""

    tests: Sequence[str]
    resamples: int
    bootstrap: int
    confidence: float
    interval: str
    seed: int
    threads: int | None


@dataclass(frozen=True)
class Cell:
    """One metric in one segment, with a row of scores for each system."""

    metric: str
    segment: str | None
    better: Better
    scores: Floats
    clusters: Ints | None

    def compared(self, systems: Sequence[str], how: HowToCompare) -> Iterator[Compared]:
        """The comparisons of every pair of systems, one for each test."""
        for a, b in combinations(range(len(systems)), 2):
            yield from self._pair(systems[a], systems[b], self.scores[a], self.scores[b], how)

    def _pair(self, first: str, second: str, a: Floats, b: Floats, how: HowToCompare) -> Iterator[Compared]:
        has_a, has_b = ~np.isnan(a), ~np.isnan(b)
        both = has_a & has_b
        x, y = a[both], b[both]
        differences = Differences.of(y - x, None if self.clusters is None else self.clusters[both])
        if how.interval == "t":
            low, high = t_interval(differences, how.confidence)
        else:
            drawn = (how.confidence, how.bootstrap, how.seed, how.threads)
            low, high = bootstrap_interval(differences, *drawn, bca=how.interval == "bca")
        rises, falls = int((y > x).sum()), int((y < x).sum())
        wins, losses = (falls, rises) if self.better == "lower" else (rises, falls)
        for test in how.tests:
            fits = test != "mcnemar" or bool(np.isin(np.concatenate([x, y]), (0.0, 1.0)).all())
            p = p_value(test, differences, how.resamples, how.seed, how.threads) if fits else math.nan
            yield Compared(
                metric=self.metric,
                baseline=first,
                other=second,
                segment=self.segment,
                n_paired=len(x),
                n_only_baseline=int((has_a & ~has_b).sum()),
                n_only_other=int((has_b & ~has_a).sum()),
                mean_baseline=_mean(x),
                mean_other=_mean(y),
                delta=differences.mean,
                low=low,
                high=high,
                d_z=effect_size(differences.values),
                wins=wins,
                ties=len(x) - wins - losses,
                losses=losses,
                test=test,
                p=p,
                p_corrected=p,
                detectable=detectable(differences, 1 - how.confidence),
                all_baseline=_mean(a[has_a]),
                all_other=_mean(b[has_b]),
            )

    def ranking(self, systems: Sequence[str], how: HowToCompare) -> Ranking:
        """The systems sorted by their means over the rows where all have a score, with letters by Tukey's test."""
        known = ~np.isnan(self.scores).any(axis=0)
        table = np.ascontiguousarray(self.scores[:, known].T)
        clusters = None if self.clusters is None else self.clusters[known]
        means = [_mean(column) for column in table.T]
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


def _mean(values: Floats) -> float:
    return exact_sum(values) / len(values) if len(values) else math.nan
