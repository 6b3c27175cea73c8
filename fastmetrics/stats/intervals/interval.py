"""A confidence interval, and a figure with its confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A confidence interval; NaN if there is none."""

    low: float
    high: float
    kind: str
    """The method, a key of :data:`fastmetrics.stats.intervals.mean_interval.NAMES`."""
    note: str | None = None
    """Why the interval may hold another level than it states, or why there is none."""
    skew: float = 0.0
    """Of a t interval: the skewness of the values divided by the root of their number."""


@dataclass(frozen=True)
class Estimate:
    """A figure and its confidence interval; NaN if undefined."""

    value: float
    low: float
    high: float
    interval: str = "none"
    """The kind of interval: a key of :data:`fastmetrics.stats.intervals.mean_interval.NAMES`."""
    note: str | None = None
    """Why the interval may hold another level, or why there is none."""

    @classmethod
    def of(cls, value: float, interval: Interval) -> Estimate:
        """A figure with this interval; without one if the figure is undefined."""
        if math.isnan(value):
            return UNDEFINED
        return cls(value, interval.low, interval.high, interval.kind, interval.note)


UNDEFINED = Estimate(math.nan, math.nan, math.nan)
"""A figure that the data do not define."""
