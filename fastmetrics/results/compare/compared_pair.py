"""The figures of one metric of two systems over one segment, and the ranking of several systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Compared:
    """One metric of two systems over one segment (None: all rows), by one test."""

    metric: str
    baseline: str
    other: str
    segment: str | None
    n_paired: int
    """Rows where both have a score; all figures except the other counts use these rows."""
    n_only_baseline: int
    n_only_other: int
    mean_baseline: float
    mean_other: float
    delta: float
    """mean_other − mean_baseline."""
    low: float
    high: float
    interval: str
    """The kind of interval: a key of :data:`fastmetrics.stats.mean_interval.NAMES`."""
    interval_note: str | None
    """Why the interval may hold another level, or why there is none."""
    n_clusters: int | None
    """The number of clusters, if rows are clustered."""
    d_z: float
    wins: int | None
    ties: int | None
    losses: int | None
    test: str
    p: float
    p_corrected: float
    detectable: float
    all_baseline: float
    """The mean over all rows where the baseline has a score."""
    all_other: float
    n_missing_baseline: int | None = None
    """Judged queries that the baseline lacks; None for scores that are not of an evaluated run, and for segments."""
    n_missing_other: int | None = None
    p_equivalent: float | None = None
    """With a margin: the p of two one-sided tests that |Δ| is at least the margin, corrected like ``p_corrected``."""
    p_not_worse: float | None = None
    """With a margin: the p of the one-sided test that the other system is worse by the margin or more."""

    def to_dict(self) -> dict[str, Any]:
        """The figures by name, except those of unpaired rows."""
        return {name: getattr(self, name) for name in self.__slots__ if not name.startswith("all_")}


@dataclass(frozen=True)
class Ranking:
    """The systems by one metric, best first, over the ``n`` rows where all have a score.

    Systems with a common letter are not significantly different by the randomised Tukey HSD test; ``p`` has the p value
    of each pair.
    """

    metric: str
    n: int
    systems: Sequence[str]
    means: Sequence[float]
    letters: Sequence[str]
    p: Sequence[Sequence[float]]


def least_rows(pair: Compared) -> int:
    """The paired rows; of independent runs, the rows of the smaller one."""
    return pair.n_paired or min(pair.n_only_baseline, pair.n_only_other)


def could_turn(pair: Compared, bounds: tuple[float, float] | None) -> str | None:
    """The note if the rows with one score only could reverse Δ, for any values of the missing scores."""
    alone = pair.n_only_baseline + pair.n_only_other
    if not alone or not pair.n_paired or pair.delta == 0:
        return None
    where = f"{pair.metric}{'' if pair.segment is None else f' ({pair.segment})'}, {pair.other} against {pair.baseline}"
    counts = (
        f"{pair.n_only_baseline:,} rows with a score of {pair.baseline} alone, {pair.n_only_other:,} of {pair.other}"
    )
    if bounds is None or not all(map(math.isfinite, bounds)):
        return f"{where}: {counts}; they could reverse Δ"
    low, high = (_extreme(pair, bounds[0], bounds[1]), _extreme(pair, bounds[1], bounds[0]))
    if low * high > 0:
        return None
    return f"{where}: {counts}; they could reverse Δ, to between {low:+.4f} and {high:+.4f}"


def _extreme(pair: Compared, missing_other: float, missing_baseline: float) -> float:
    """Δ over all rows with any score if the missing scores had these values."""
    total = pair.n_paired * pair.delta
    for alone, paired_mean, all_mean, sign, missing in (
        (pair.n_only_baseline, pair.mean_baseline, pair.all_baseline, -1, missing_other),
        (pair.n_only_other, pair.mean_other, pair.all_other, 1, missing_baseline),
    ):
        if alone:
            mean_alone = (all_mean * (pair.n_paired + alone) - paired_mean * pair.n_paired) / alone
            total += sign * alone * (mean_alone - missing)
    return total / (pair.n_paired + pair.n_only_baseline + pair.n_only_other)
