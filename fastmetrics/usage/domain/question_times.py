"""Times of questions: by day, by hour of the day, first and last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Ints
from fastmetrics.base.errors import InputError
from fastmetrics.usage.timestamps import MISSING, ZONED, mixed, times_of

_HOUR = 3_600_000_000
_DAY = 24 * _HOUR
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Activity:
    """Questions by day since 1970 and by hour; ``zones`` has the first row of times with a zone and without."""

    days: Mapping[int, int] = field(default_factory=dict)
    hours: Ints = field(default_factory=lambda: np.zeros(24, np.int64))
    first: int | None = None
    last: int | None = None
    zones: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: Activity) -> Activity:
        """The sum of both; raises ``InputError`` if one has times with a time zone and the other times without."""
        zones = {**other.zones, **self.zones}
        if len(zones) > 1:
            raise InputError(mixed("timestamp", zones))
        days = dict(self.days)
        for day, n in other.days.items():
            days[day] = days.get(day, 0) + n
        ends = [end for end in (self.first, self.last, other.first, other.last) if end is not None]
        return Activity(days, self.hours + other.hours, min(ends, default=None), max(ends, default=None), zones)

    def result_fields(self, *, has: bool) -> dict[str, Any]:
        """The fields of a result; None for a log without times."""
        if not has:
            return dict.fromkeys(("first", "last", "days", "hours"))
        ordered = sorted(self.days)
        days = {(_EPOCH + timedelta(days=day)).date().isoformat(): self.days[day] for day in ordered}
        ends = [None if end is None else self._written(end) for end in (self.first, self.last)]
        return {"first": ends[0], "last": ends[1], "days": days, "hours": self.hours.tolist()}

    def _written(self, time: int) -> str:
        iso_time = (_EPOCH + timedelta(microseconds=time)).isoformat()
        return iso_time if ZONED in self.zones else iso_time.removesuffix("+00:00")


def activity(column: pa.Array, first: int, present: pa.Array) -> Activity:
    """The times of the rows that are ``present``; ``first`` is the number of the first row."""
    times, zone = times_of(column, "timestamp", first)
    times = times[np.asarray(present)]
    times = times[times != MISSING]
    if not times.size:
        return Activity()
    days, counts = np.unique(times // _DAY, return_counts=True)
    hours = np.bincount(times % _DAY // _HOUR, minlength=24)
    by_day = dict(zip(days.tolist(), counts.tolist(), strict=True))
    return Activity(by_day, hours, int(times.min()), int(times.max()), {str(zone): first})
