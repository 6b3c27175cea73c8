"""Quantities that measures sum along a ranking: hits, precisions, discounted gains.

In all kernels ``grades`` holds the grade at each rank (NaN = not judged); query q has ``starts[q]:starts[q + 1]``;
a document is relevant from grade ``level`` on; ``cuts[q]`` is the cut-off of query q.
"""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.kernels.jit import kernel


@kernel
def hits(grades: Floats, starts: Ints, cuts: Ints, level: float) -> Ints:
    """Number of relevant documents among the first ``cuts``."""
    counts = np.zeros(starts.size - 1, np.int64)
    for q in range(counts.size):
        for i in range(starts[q], min(starts[q] + cuts[q], starts[q + 1])):
            if grades[i] >= level:
                counts[q] += 1
    return counts


@kernel
def first_hit(grades: Floats, starts: Ints, cuts: Ints, level: float) -> Ints:
    """Rank, from 1, of the first relevant document among the first ``cuts``; 0 when there is none."""
    rank = np.zeros(starts.size - 1, np.int64)
    for q in range(rank.size):
        for i in range(starts[q], min(starts[q] + cuts[q], starts[q + 1])):
            if grades[i] >= level:
                rank[q] = i - starts[q] + 1
                break
    return rank


@kernel
def precision_sum(grades: Floats, starts: Ints, cuts: Ints, level: float) -> Floats:
    """Sum of the precisions at the relevant documents among the first ``cuts``."""
    total = np.zeros(starts.size - 1)
    for q in range(total.size):
        hits = 0
        for i in range(starts[q], min(starts[q] + cuts[q], starts[q + 1])):
            if grades[i] >= level:
                hits += 1
                total[q] += hits / (i - starts[q] + 1)
    return total


@kernel
def discounted_gain(gains: Floats, starts: Ints, cuts: Ints, logs: Floats) -> Floats:
    """Sum of the positive gains among the first ``cuts``, each divided by ``logs`` of its rank."""
    total = np.zeros(starts.size - 1)
    for q in range(total.size):
        for i in range(starts[q], min(starts[q] + cuts[q], starts[q + 1])):
            if gains[i] > 0.0:
                total[q] += gains[i] / logs[i - starts[q]]
    return total


@kernel
def preference_sum(grades: Floats, starts: Ints, level: float, relevant: Ints, nonrelevant: Ints) -> Floats:
    """Sum over the relevant documents of the share of judged non-relevant documents ranked below each.

    ``relevant[q]`` and ``nonrelevant[q]`` are the numbers of documents of query q that were judged so.
    """
    total = np.zeros(starts.size - 1)
    for q in range(total.size):
        passed = 0
        most = max(min(relevant[q], nonrelevant[q]), 1)
        for i in range(starts[q], starts[q + 1]):
            if grades[i] >= level:
                total[q] += 1.0 - min(passed, relevant[q]) / most
            elif grades[i] >= 0.0:
                passed += 1
    return total


@kernel
def inferred_precision_sum(grades: Floats, starts: Ints, level: float, epsilon: float) -> Floats:
    """Sum of the precisions at the relevant documents, inferred for a partly judged pool."""
    total = np.zeros(starts.size - 1)
    for q in range(total.size):
        hits, passed, unjudged = 0, 0, 0
        for i in range(starts[q], starts[q + 1]):
            before = float(i - starts[q])
            if grades[i] >= level:
                inferred = 0.0
                if before > 0.0:
                    share = (hits + epsilon) / (hits + passed + 2.0 * epsilon)
                    inferred = (before / (before + 1.0)) * ((hits + passed + unjudged) / before) * share
                total[q] += 1.0 / (before + 1.0) + inferred
                hits += 1
            elif grades[i] >= 0.0:
                passed += 1
            elif grades[i] < 0.0:
                unjudged += 1
    return total


@kernel
def interpolated_precision(grades: Floats, starts: Ints, level: float, needed: Ints, hits: Ints) -> Floats:
    """Best precision at or after the rank where ``needed`` of the ``hits`` relevant documents were seen."""
    best = np.zeros(starts.size - 1)
    for q in range(best.size):
        remaining = hits[q]
        i = starts[q + 1] - 1
        while i >= starts[q] and remaining > 0 and remaining >= needed[q]:
            best[q] = max(best[q], remaining / (i - starts[q] + 1))
            if grades[i] >= level:
                remaining -= 1
            i -= 1
    return best


@kernel
def expected_reciprocal_rank(stops: Floats, starts: Ints, cuts: Ints) -> Floats:
    """Expected 1/rank of the document where a user stops; ``stops`` is the stopping probability of each document."""
    total = np.zeros(starts.size - 1)
    for q in range(total.size):
        going = 1.0
        for i in range(starts[q], min(starts[q] + cuts[q], starts[q + 1])):
            if stops[i] > 0.0:
                total[q] += going * stops[i] / (i - starts[q] + 1)
                going *= 1.0 - stops[i]
    return total


@kernel
def persistent_gain(gains: Floats, starts: Ints, cuts: Ints, persistence: float) -> Floats:
    """Sum of the positive gains among the first ``cuts``, weighted by powers of ``persistence``."""
    total = np.zeros(starts.size - 1)
    for q in range(total.size):
        weight = 1.0
        for i in range(starts[q], min(starts[q] + cuts[q], starts[q + 1])):
            if gains[i] > 0.0:
                total[q] += gains[i] * weight
            weight *= persistence
    return total
