"""Quantities that measures sum along a ranking: hits, precisions, discounted gains.

In all kernels ``grades`` holds the grade at each rank (NaN = not judged); query q has ``starts[q]:starts[q + 1]``;
a document is relevant from grade ``level`` on; ``cuts[q]`` is the cut-off of query q.
"""

from __future__ import annotations

import numpy as np

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.kernels.jit import kernel


@kernel
def hits(grades: Floats, starts: Ints, cuts: Ints, level: float) -> Ints:
    """Number of relevant documents among the first ``cuts``."""
    found = np.zeros(starts.size - 1, np.int64)
    for q in range(found.size):
        for i in range(starts[q], min(starts[q] + cuts[q], starts[q + 1])):
            if grades[i] >= level:
                found[q] += 1
    return found


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
        found = 0
        for i in range(starts[q], min(starts[q] + cuts[q], starts[q + 1])):
            if grades[i] >= level:
                found += 1
                total[q] += found / (i - starts[q] + 1)
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
    """Sum over the relevant documents of the share of judged non-relevant documents ranked below each."""
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
        found, passed, unjudged = 0, 0, 0
        for i in range(starts[q], starts[q + 1]):
            before = float(i - starts[q])
            if grades[i] >= level:
                inferred = 0.0
                if before > 0.0:
                    share = (found + epsilon) / (found + passed + 2.0 * epsilon)
                    inferred = (before / (before + 1.0)) * ((found + passed + unjudged) / before) * share
                total[q] += 1.0 / (before + 1.0) + inferred
                found += 1
            elif grades[i] >= 0.0:
                passed += 1
            elif grades[i] < 0.0:
                unjudged += 1
    return total


@kernel
def interpolated_precision(grades: Floats, starts: Ints, level: float, wanted: Ints, found: Ints) -> Floats:
    """Best precision at or after the rank where ``wanted`` of the ``found`` relevant documents were seen."""
    best = np.zeros(starts.size - 1)
    for q in range(best.size):
        left = found[q]
        i = starts[q + 1] - 1
        while i >= starts[q] and left > 0 and left >= wanted[q]:
            best[q] = max(best[q], left / (i - starts[q] + 1))
            if grades[i] >= level:
                left -= 1
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
