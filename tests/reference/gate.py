"""What rules of a gate read, in plain Python: rows without a score count as the worst score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction


def _mean(values: list[float]) -> float:
    return float(sum(map(Fraction, values)) / len(values)) if values else math.nan


def _scored(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def mean_of_rule(
    scores: Mapping[int, float | None], baseline: Mapping[int, float | None] | None, worst: float | None
) -> float:
    """The mean of the scores by id; NaN is undefined, None missing; ``worst`` None leaves out what failed."""
    values = []
    for row in {**(baseline or {}), **scores}:
        value = scores.get(row)
        if value is not None and _scored(value):
            values.append(value)
        elif worst is not None and (
            _scored((baseline or {}).get(row)) or (row in scores and (value is None or math.isinf(value)))
        ):
            values.append(worst)
    return _mean(values)


def drop_of_rule(
    scores: Mapping[int, float | None], baseline: Mapping[int, float | None], worst: float | None
) -> float:
    """How much the mean of the scores is below that of the baseline, over the rows that the baseline scores."""
    drops = []
    for row, before in baseline.items():
        after = scores.get(row)
        after = after if after is not None and _scored(after) else worst
        if before is not None and _scored(before) and after is not None:
            drops.append(before - after)
    return _mean(drops)
