"""Sums of trec_eval's experimental gain measures; arrays as in :mod:`fastmetrics.kernels.ranking.gains`."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.kernels.jit import kernel


@kernel
def cost_discounted_hits(grades: Floats, starts: Ints, level: float) -> Floats:
    """Sum over the relevant documents of 1 / log2(2 + number of others ranked above)."""
    total = np.zeros(starts.size - 1)
    for q in range(total.size):
        passed = 0
        for i in range(starts[q], starts[q + 1]):
            if grades[i] >= level:
                total[q] += 1.0 / np.log2(2.0 + passed)
            else:
                passed += 1
    return total


@kernel
def cost_discounted_gain(gains: Floats, starts: Ints, ideal: Floats, ideal_starts: Ints) -> Floats:
    """Sum of gain / log2(2 + gain missed so far); the cost of a rank is its ideal gain, at least 1."""
    total = np.zeros(starts.size - 1)
    for q in range(total.size):
        missed = 0.0
        for i in range(starts[q], starts[q + 1]):
            best = ideal_starts[q] + i - starts[q]
            missed += max(ideal[best], 1.0) if best < ideal_starts[q + 1] else 1.0
            if gains[i] > 0.0:
                missed -= gains[i]
                total[q] += gains[i] / np.log2(2.0 + missed)
    return total


@kernel
def ndcg_at_relevant(gains: Floats, starts: Ints, ideal: Floats, ideal_starts: Ints) -> Floats:
    """NDCG averaged over the relevant documents; a missing one contributes the NDCG of the whole ranking."""
    mean = np.zeros(starts.size - 1)
    for q in range(mean.size):
        length, judged = starts[q + 1] - starts[q], ideal_starts[q + 1] - ideal_starts[q]
        gain, best, hits, relevant = 0.0, 0.0, 0, 0
        for rank in range(max(length, judged)):
            log = np.log2(rank + 2.0)
            if rank < judged and ideal[ideal_starts[q] + rank] > 0.0:
                best += ideal[ideal_starts[q] + rank] / log
                relevant += 1
            if rank < length and gains[starts[q] + rank] > 0.0:
                gain += gains[starts[q] + rank] / log
                mean[q] += gain / best
                hits += 1
        if relevant > 0:
            mean[q] = (mean[q] + (relevant - hits) * gain / best) / relevant
    return mean


@kernel
def ndcg_at_levels(gains: Floats, starts: Ints, ideal: Floats, ideal_starts: Ints) -> Floats:
    """NDCG averaged over the ranks where the ideal gain decreases, and over the end of a longer ranking."""
    mean = np.zeros(starts.size - 1)
    for q in range(mean.size):
        length, judged = starts[q + 1] - starts[q], ideal_starts[q + 1] - ideal_starts[q]
        gain, best, level, relevant, points = 0.0, 0.0, np.inf, 0, 0
        for rank in range(max(length, judged + 1)):
            log = np.log2(rank + 2.0)
            now = max(ideal[ideal_starts[q] + rank], 0.0) if rank < judged else 0.0
            if now < level:
                if best > 0.0:
                    mean[q] += gain / best
                    points += 1
                level = now
            if rank < length and gains[starts[q] + rank] > 0.0:
                gain += gains[starts[q] + rank] / log
            best += now / log
            relevant += now > 0.0
        if best > 0.0 and length > relevant + 1:
            mean[q] += gain / best
            points += 1
        if points > 0:
            mean[q] /= points
    return mean
