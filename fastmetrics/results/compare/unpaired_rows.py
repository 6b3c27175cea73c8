"""Rows with a score of one system only, and whether they could reverse a difference."""

from __future__ import annotations

import math
from typing import Protocol


class Difference(Protocol):
    """The data of one metric of two systems."""

    @property
    def metric(self) -> str: ...
    @property
    def segment(self) -> str | None: ...
    @property
    def baseline(self) -> str: ...
    @property
    def other(self) -> str: ...
    @property
    def n_paired(self) -> int: ...
    @property
    def n_only_baseline(self) -> int: ...
    @property
    def n_only_other(self) -> int: ...
    @property
    def mean_baseline(self) -> float: ...
    @property
    def mean_other(self) -> float: ...
    @property
    def all_baseline(self) -> float: ...
    @property
    def all_other(self) -> float: ...
    @property
    def delta(self) -> float: ...


def could_turn(one: Difference, bounds: tuple[float, float] | None) -> str | None:
    """The note if the rows with one score only could reverse Δ, for any values of the missing scores."""
    alone = one.n_only_baseline + one.n_only_other
    if not alone or not one.n_paired or one.delta == 0:
        return None
    where = f"{one.metric}{'' if one.segment is None else f' ({one.segment})'}, {one.other} against {one.baseline}"
    counts = f"{one.n_only_baseline:,} rows with a score of {one.baseline} alone, {one.n_only_other:,} of {one.other}"
    if bounds is None or not all(map(math.isfinite, bounds)):
        return f"{where}: {counts}; they could reverse Δ"
    low, high = (_extreme(one, bounds[0], bounds[1]), _extreme(one, bounds[1], bounds[0]))
    if low * high > 0:
        return None
    return f"{where}: {counts}; they could reverse Δ, to between {low:+.4f} and {high:+.4f}"


def _extreme(one: Difference, n_missing_other: float, n_missing_baseline: float) -> float:
    """Δ over all rows with any score if the missing scores had these values."""
    total = one.n_paired * one.delta
    for alone, paired_mean, all_mean, sign, missing in (
        (one.n_only_baseline, one.mean_baseline, one.all_baseline, -1, n_missing_other),
        (one.n_only_other, one.mean_other, one.all_other, 1, n_missing_baseline),
    ):
        if alone:
            known = (all_mean * (one.n_paired + alone) - paired_mean * one.n_paired) / alone
            total += sign * alone * (known - missing)
    return total / (one.n_paired + one.n_only_baseline + one.n_only_other)
