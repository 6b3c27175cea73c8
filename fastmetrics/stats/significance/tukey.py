"""The randomised Tukey HSD test of several systems on the same rows (Carterette 2012, Sakai 2018)."""

from __future__ import annotations

from functools import partial

import numpy as np

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.kernels.stats.permuted_ranges import permuted_ranges
from fastmetrics.stats.intervals.bootstrap_intervals import drawn
from fastmetrics.stats.intervals.estimated_values import whole


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
