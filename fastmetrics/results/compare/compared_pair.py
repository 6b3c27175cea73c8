"""The figures of one metric of two systems over one segment, and the ranking of several systems."""

from __future__ import annotations

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
    """The kind of interval: a key of :data:`fastmetrics.stats.intervals.mean_interval.NAMES`."""
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


def least_rows(one: Compared) -> int:
    """The paired rows; of independent runs, the rows of the smaller one."""
    return one.n_paired or min(one.n_only_baseline, one.n_only_other)
