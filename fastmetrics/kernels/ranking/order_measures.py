"""Kernels of measures of order: pairs of documents, and overlap with the ideal ranking.

Arrays are as in :mod:`fastmetrics.kernels.ranking.gains`; ``ideal`` holds each query's grades in descending order.
"""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.kernels.jit import kernel


@kernel
def pairs_of_documents(grades: Floats, starts: Ints, cuts: Ints, level: float) -> tuple[Ints, Ints]:
    """Pairs of a relevant and another document among the first ``cuts``: in the wrong order, and all."""
    wrong = np.zeros(starts.size - 1, np.int64)
    pairs = np.zeros(starts.size - 1, np.int64)
    for q in range(pairs.size):
        relevant, others = 0, 0
        for i in range(starts[q], min(starts[q] + cuts[q], starts[q + 1])):
            if grades[i] >= level:
                relevant += 1
                wrong[q] += others
            else:
                others += 1
        pairs[q] = relevant * others
    return wrong, pairs


@kernel
def overlap_with_ideal(
    grades: Floats, starts: Ints, ideal: Floats, ideal_starts: Ints, persistence: float
) -> tuple[Floats, Floats, Floats]:
    """Sums, weighted by powers of ``persistence``, of the shares in common with the ideal ranking at each depth.

    The first result is the ranking's sum, the second that of the ideal ranking, the third the sum of the weights.  The
    ideal ranking has all documents of positive grade by descending grade; of documents of one grade, the retrieved ones
    are first, in the order of the ranking.
    """
    queries = starts.size - 1
    sums, best, weights = np.zeros(queries), np.zeros(queries), np.zeros(queries)
    for q in range(queries):
        length, first, n_ideal = starts[q + 1] - starts[q], ideal_starts[q], 0
        while first + n_ideal < ideal_starts[q + 1] and ideal[first + n_ideal] > 0.0:
            n_ideal += 1
        matches = np.zeros(max(length, n_ideal), np.int64)
        placed = np.zeros(n_ideal, np.int64)
        for rank in range(length):
            grade = grades[starts[q] + rank]
            if grade > 0.0:
                low, high = 0, n_ideal - 1
                while low < high:
                    middle = (low + high) // 2
                    if ideal[first + middle] > grade:
                        low = middle + 1
                    else:
                        high = middle
                matches[max(rank, low + placed[low])] += 1
                placed[low] += 1
        common, weight = 0, 1.0
        for rank in range(matches.size):
            common += matches[rank]
            sums[q] += weight * common / (rank + 1)
            best[q] += weight * min(rank + 1, n_ideal) / (rank + 1)
            weights[q] += weight
            weight *= persistence
    return sums, best, weights
