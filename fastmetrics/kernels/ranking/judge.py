"""Rankings and judgements: the grade at each rank, and the rank order of a run's documents."""

from __future__ import annotations

import numpy as np

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.kernels.jit import kernel
from fastmetrics.kernels.ranking.ids import Ids, clear, find, is_after, table_for


@kernel
def judge(docs: Ids, starts: Ints, judged: Ids, judged_starts: Ints, grades: Floats) -> tuple[Floats, int]:
    """The grade of each ranked document, NaN if it was not judged or already occurred at a better rank.

    If a row judges an id twice, the first grade counts; the second result is the number of repeated ids.
    """
    doc_grades = np.full(docs.keys.size, np.nan)
    seen = np.zeros(judged.keys.size, np.bool_)
    longest, repeated = 0, 0
    for row in range(judged_starts.size - 1):
        longest = max(longest, judged_starts[row + 1] - judged_starts[row])
    slots = table_for(longest)
    for row in range(starts.size - 1):
        first, last = judged_starts[row], judged_starts[row + 1]
        mask = clear(slots, last - first)
        for j in range(first, last):
            slot = find(slots, mask, judged, judged, j)
            if slots[slot] < 0:
                slots[slot] = j
            else:
                repeated += 1
        for i in range(starts[row], starts[row + 1]):
            j = slots[find(slots, mask, judged, docs, i)]
            if j >= 0 and not seen[j]:
                seen[j] = True
                doc_grades[i] = grades[j]
    return doc_grades, repeated


@kernel
def ranks_before(scores: Floats, docs: Ids, i: int, j: int) -> bool:
    """Whether row ``i`` ranks before row ``j``: by score descending, then by document id descending."""
    if scores[i] != scores[j]:
        return bool(scores[i] > scores[j])
    return is_after(docs, i, j)


@kernel
def is_ranked(scores: Floats, docs: Ids, first: int, last: int) -> bool:
    """Whether the rows ``first:last`` are in rank order."""
    for i in range(first + 1, last):
        if scores[i] >= scores[i - 1] and ranks_before(scores, docs, i, i - 1):
            return False
    return True


@kernel
def in_rank_order(values: Floats, scores: Floats, docs: Ids, starts: Ints) -> Floats:
    """``values`` sorted by rank within each query; only unsorted queries need a (stable) merge sort."""
    ordered = values.copy()
    longest = 0
    for query in range(starts.size - 1):
        longest = max(longest, starts[query + 1] - starts[query])
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for query in range(starts.size - 1):
        first, size = starts[query], starts[query + 1] - starts[query]
        if is_ranked(scores, docs, first, first + size):
            continue
        for place in range(size):
            order[place] = first + place
        width = 1
        while width < size:
            for low in range(0, size, 2 * width):
                _merge(order, spare, (low, min(low + width, size), min(low + 2 * width, size)), scores, docs)
            order, spare = spare, order
            width *= 2
        for place in range(size):
            ordered[first + place] = values[order[place]]
    return ordered


@kernel
def _merge(order: Ints, spare: Ints, bounds: tuple[int, int, int], scores: Floats, docs: Ids) -> None:
    low, middle, high = bounds
    left, right = low, middle
    for place in range(low, high):
        if left < middle and (right >= high or not ranks_before(scores, docs, order[right], order[left])):
            spare[place] = order[left]
            left += 1
        else:
            spare[place] = order[right]
            right += 1
