"""Krippendorff's alpha by its definition: the matrix of coincidences."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence


def difference(a: float, b: float, level: str, sizes: Counter[float]) -> float:
    """The squared difference of two ratings; ``sizes`` says how often each occurs."""
    if level == "nominal":
        return float(a != b)
    if level == "interval":
        return (a - b) ** 2
    between = sum(sizes[value] for value in sizes if min(a, b) <= value <= max(a, b))
    return (between - (sizes[a] + sizes[b]) / 2) ** 2 if a != b else 0.0


def krippendorff_alpha(ratings: Sequence[Sequence[float | None]], level: str) -> float:
    """Krippendorff's alpha of the columns of raters."""
    units = [[value for value in unit if value is not None] for unit in zip(*ratings, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    coincidences: Counter[tuple[float, float]] = Counter()
    for unit in units:
        for i, j in itertools.permutations(range(len(unit)), 2):
            coincidences[unit[i], unit[j]] += 1 / (len(unit) - 1)
    sizes = Counter(value for unit in units for value in unit)
    n = sum(sizes.values())
    observed = sum(count * difference(*pair, level, sizes) for pair, count in coincidences.items()) / n if n else 0.0
    expected = sum(sizes[a] * sizes[b] * difference(a, b, level, sizes) for a, b in itertools.permutations(sizes, 2))
    return 1 - observed / (expected / (n * (n - 1))) if expected else math.nan
