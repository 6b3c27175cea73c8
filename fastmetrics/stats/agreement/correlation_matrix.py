"""Pearson's r and Spearman's ρ of all pairs of columns, over the rows with both values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastmetrics.base.arrays import Floats


@dataclass(frozen=True)
class Correlated:
    """Two columns by number: the rows where both are finite, and the correlations over those (NaN where undefined)."""

    a: int
    b: int
    n: int
    pearson: float
    spearman: float


def correlate(columns: Sequence[Floats]) -> list[Correlated]:
    """The correlations of all pairs of columns, each over the rows where both are finite.

    r = Σ(xᵢ − x̄)(yᵢ − ȳ) / √(Σ(xᵢ − x̄)² · Σ(yᵢ − ȳ)²); ρ is r of the ranks within those rows, with mean ranks for
    ties.  Both are undefined if a column is constant there, or if fewer than two rows remain.  Ranks of a column over
    the same rows are computed once.

    >>> found = correlate([np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 9.0]), np.array([2.0, np.nan, 1.0])])
    >>> [(one.a, one.b, one.n, round(one.pearson, 3), round(one.spearman, 3)) for one in found]
    [(0, 1, 3, 0.99, 1.0), (0, 2, 2, -1.0, -1.0), (1, 2, 2, -1.0, -1.0)]
    """
    finite = [np.isfinite(column) for column in columns]
    own = {np.packbits(mask).tobytes() for mask in finite}  # sets of complete rows, often shared by several pairs
    cache: dict[tuple[int, bytes], tuple[Floats, Floats]] = {}
    correlations = []
    for a in range(len(columns)):
        for b in range(a + 1, len(columns)):
            both = finite[a] & finite[b]
            rows = np.packbits(both).tobytes()
            pair = {index: cache.get((index, rows)) or _standard(columns[index][both]) for index in (a, b)}
            if rows in own:
                cache |= {(index, rows): standard for index, standard in pair.items()}
            (x, ranked_x), (y, ranked_y) = pair[a], pair[b]
            correlations.append(Correlated(a, b, int(both.sum()), _product(x, y), _product(ranked_x, ranked_y)))
        cache = {key: value for key, value in cache.items() if key[0] > a}
    return correlations


def _standard(values: Floats) -> tuple[Floats, Floats]:
    """The values and their ranks, each centred and scaled to length 1; NaN if all are equal."""
    from scipy.stats import rankdata

    return _unit(values), _unit(rankdata(values))


def _unit(values: Floats) -> Floats:
    if len(values) == 0 or values.min() == values.max():
        return np.full(len(values), np.nan)
    scale = np.abs(values).max()  # avoids overflow and underflow of the squares
    centred = values / scale - np.mean(values / scale)
    return np.asarray(centred / np.sqrt(np.sum(centred * centred)))


def _product(x: Floats, y: Floats) -> float:
    return float(np.clip(np.sum(x * y), -1.0, 1.0)) if len(x) > 1 else float("nan")
