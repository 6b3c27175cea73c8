"""The quantities that measures sum along a ranking: gains, precisions, pairs in order, overlap of two rankings."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.rankings import Ids, find, longest_row, table_for, table_size

# Quantities that measures sum along a ranking: hits, precisions, discounted gains.
#
# In all kernels ``grades`` holds the grade at each rank (NaN = not judged); query q has ``starts[q]:starts[q + 1]``;
# a document is relevant from grade ``level`` on; ``cuts[q]`` is the cut-off of query q.


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
        # bpref as trec_eval computes it: divided by the smaller of both numbers, with at most ``relevant`` documents
        # above.
        most = max(min(relevant[q], nonrelevant[q]), 1)
        for i in range(starts[q], starts[q + 1]):
            if grades[i] >= level:
                total[q] += 1.0 - min(passed, relevant[q]) / most
            # Neither NaN, which is not judged, nor a negative grade, which is in the pool and not judged either.
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
            # infAP (Yilmaz and Aslam 2006): the precision expected at rank k is 1/k for the document itself, and (k -
            # 1)/k times the share of relevant ones above, estimated as share in the pool · share of relevant among the
            # judged; epsilon keeps 0/0 out.
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
            # In the pool, but not in the sample that was judged.
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
        # From the last rank up, ``remaining`` being the relevant documents down to rank i.
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


# Sums of trec_eval's experimental gain measures; ``ideal`` holds each query's gains in descending order.


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
            # A rank costs what the ideal ranking gains there; what the document does gain is not missed.
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
            # The relevant documents that the ranking lacks: both gains are those at its end.
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
            # One rank more than was judged has the ideal gain 0, so that the lowest level ends too.
            now = max(ideal[ideal_starts[q] + rank], 0.0) if rank < judged else 0.0
            # Between levels both gains are those of the ranks above.
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


# Kernels of measures of order: pairs of documents, and overlap with the ideal ranking.
#
# ``ideal`` holds each query's grades in descending order.


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
                # The first place of the grade in the ideal ranking; those of this grade that were met before have the
                # places from there.
                low, high = 0, n_ideal - 1
                while low < high:
                    middle = (low + high) // 2
                    if ideal[first + middle] > grade:
                        low = middle + 1
                    else:
                        high = middle
                # The document is in both rankings from the deeper of its two places on.
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


# Agreement of two rankings by depth.


@leaf
def met_at(ids: Ids, starts: Ints, first: int, second: int, slots: Ints, met: Ints) -> None:
    """``met[d]`` = number of ids that are in both rankings down to rank d + 1 but not down to rank d.

    ``slots`` are those of a table for the longest row ``starts[r]:starts[r + 1]``.
    """
    start, stop = starts[first], starts[first + 1]
    mask = table_size(stop - start) - 1
    # Here rows do not come in their order, so entries of another row could be at or above ``start``.
    for slot in range(mask + 1):
        slots[slot] = -1
    for i in range(start, stop):
        slots[find(slots, mask, start, ids, ids, i)] = i
    for rank in range(met.size):
        met[rank] = 0
    for j in range(starts[second], starts[second + 1]):
        i = slots[find(slots, mask, start, ids, ids, j)]
        if i >= start:
            # An id is in both from its lower place on.
            met[max(i - start, j - starts[second])] += 1


@kernel
def shares_in_common(ids: Ids, starts: Ints, pairs: Ints) -> Floats:
    """|A ∩ B| / |A ∪ B| of each pair of rows, 1 for two empty ones."""
    shares = np.ones(len(pairs))
    slots = table_for(longest_row(starts))
    for p in range(len(pairs)):
        first, second = pairs[p, 0], pairs[p, 1]
        sizes = starts[first + 1] - starts[first], starts[second + 1] - starts[second]
        met = np.empty(max(sizes[0], sizes[1]), np.int64)
        met_at(ids, starts, first, second, slots, met)
        common = met.sum()
        if met.size > 0:
            shares[p] = common / (sizes[0] + sizes[1] - common)
    return shares


@kernel
def rank_biased_overlaps(ids: Ids, starts: Ints, pairs: Ints, persistence: float) -> Floats:
    """Extrapolated rank-biased overlap of each pair of rows: 1 if both are empty, 0 if one is empty."""
    overlaps = np.ones(len(pairs))
    slots = table_for(longest_row(starts))
    for p in range(len(pairs)):
        first, second = pairs[p, 0], pairs[p, 1]
        sizes = starts[first + 1] - starts[first], starts[second + 1] - starts[second]
        short, long = min(sizes[0], sizes[1]), max(sizes[0], sizes[1])
        met = np.empty(long, np.int64)
        met_at(ids, starts, first, second, slots, met)
        common, common_short, total, weight = 0, 0, 0.0, 1.0
        # Equation 32 of Webber, Moffat and Zobel 2010: below the end of the shorter ranking its share of common ids is
        # taken to go on, and both shares below the end of the longer one.
        for rank in range(1, long + 1):
            common += met[rank - 1]
            weight *= persistence
            total += common / rank * weight
            if rank == short:
                common_short = common
            if rank > short > 0:
                total += common_short * (rank - short) / (short * rank) * weight
        if short > 0:
            tail = (common - common_short) / long + common_short / short
            overlaps[p] = (1.0 - persistence) / persistence * total + tail * weight
        elif long > 0:
            overlaps[p] = 0.0
    return overlaps
