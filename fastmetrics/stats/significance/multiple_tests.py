"""Several tests at once: corrected p values, the Tukey HSD test of several systems, and their letters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from string import ascii_lowercase

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.kernels.resampling import permuted_ranges
from fastmetrics.stats.intervals.bootstrap_intervals import drawn
from fastmetrics.stats.intervals.estimates import whole

CORRECTIONS = ("holm", "bh", "none")


def corrected(p_values: Sequence[float], correction: str) -> list[float]:
    """Corrected p values: ``holm`` (family-wise error), ``bh`` (Benjamini and Hochberg's rate), ``none``.

    NaN stays NaN and is not counted.

    >>> corrected([0.01, 0.04, 0.03], "holm")
    [0.03, 0.06, 0.06]
    >>> corrected([0.01, 0.04, 0.03], "bh")
    [0.03, 0.04, 0.04]
    """
    values = np.asarray(p_values, np.float64)
    result = values.copy()
    defined = np.flatnonzero(~np.isnan(values))
    order = defined[np.argsort(values[defined], kind="stable")]
    if correction != "none" and len(order):
        result[order] = {"holm": _holm, "bh": _benjamini_hochberg}[correction](values[order])
    return [float(p) for p in result]


def _holm(ascending: Floats) -> Floats:
    return np.minimum(1.0, np.maximum.accumulate(ascending * np.arange(len(ascending), 0, -1)))


def _benjamini_hochberg(ascending: Floats) -> Floats:
    n = len(ascending)
    scaled = ascending * n / np.arange(1, n + 1)
    return np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])


def compact_letters(count: int, differ: Callable[[int, int], bool]) -> list[str]:
    """Letters for ``count`` systems, in the given order: two share a letter if they are not significantly different.

    By insertion and absorption (Piepho 2004).

    >>> compact_letters(3, lambda a, b: {a, b} == {0, 2})
    ['a', 'ab', 'b']
    """
    groups = [set(range(count))]
    for a in range(count):
        for b in range(a + 1, count):
            if differ(a, b):
                cut = [part for group in groups for part in _split(group, a, b)]
                groups = [group for at, group in enumerate(cut) if not _absorbed(at, cut)]
    groups.sort(key=sorted)
    return ["".join(_letter(at) for at, group in enumerate(groups) if system in group) for system in range(count)]


def _split(group: set[int], a: int, b: int) -> list[set[int]]:
    return [group - {a}, group - {b}] if a in group and b in group else [group]


def _absorbed(at: int, groups: list[set[int]]) -> bool:
    """Whether another group contains this one; of equal groups the first stays."""
    group = groups[at]
    return any(group < other or (group == other and place < at) for place, other in enumerate(groups))


def _letter(place: int) -> str:
    """a to z, then a1 to z1 and so on."""
    return ascii_lowercase[place % 26] + (str(place // 26) if place >= 26 else "")


def tukey_p(
    scores: Floats, resamples: int, seed: int, threads: int | None = None, clusters: Ints | None = None
) -> Floats:
    """The family-wise p value of each pair of systems: a matrix with 1 on its diagonal.

    ``scores`` has a row for each question and a column for each system, all finite.  Under the null hypothesis that all
    systems are equal, the scores of a row can be permuted among them; p of a pair is (1 + #{range of the means ≥
    difference of the pair's means})/(1 + N).  The rows of a cluster are permuted alike.

    >>> tukey_p(np.array([[0.0, 1.0, 1.0]] * 30), resamples=999, seed=0)[0].round(3).tolist()
    [1.0, 0.001, 0.001]
    """
    table = scores
    if clusters is not None:
        _, numbers = np.unique(clusters, return_inverse=True)
        table = np.zeros((int(numbers.max(initial=-1)) + 1, scores.shape[1]))
        np.add.at(table, numbers, scores)
    units, _ = whole(table)
    sums = units.sum(axis=0)
    ranges = np.sort(drawn(partial(permuted_ranges, units), units.size, resamples, seed, threads))
    reached = np.abs(sums[:, None] - sums[None, :]) - len(units)
    as_large = resamples - np.searchsorted(ranges, reached)
    p_values: Floats = (1 + as_large) / (1 + resamples)
    np.fill_diagonal(p_values, 1.0)
    return p_values
