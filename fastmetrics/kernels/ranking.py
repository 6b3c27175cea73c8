"""Rankings against judgements: which grade stands at each rank, and in which order a run's documents rank."""

from __future__ import annotations

import numpy as np

from fastmetrics.arrays import Floats, Ints
from fastmetrics.kernels._jit import kernel
from fastmetrics.kernels.ids import Ids, clear, find, is_after, table_for


@kernel
def judge(docs: Ids, starts: Ints, known: Ids, known_starts: Ints, grades: Floats) -> tuple[Floats, int]:
    """The grade of each ranked document, NaN where it was not judged or already stood at a better rank.

    Of an id judged twice in a row the first grade counts; how many there are is the second result.
    """
    found = np.full(docs.keys.size, np.nan)
    taken = np.zeros(known.keys.size, np.bool_)
    longest, repeated = 0, 0
    for row in range(known_starts.size - 1):
        longest = max(longest, known_starts[row + 1] - known_starts[row])
    slots = table_for(longest)
    for row in range(starts.size - 1):
        first, last = known_starts[row], known_starts[row + 1]
        mask = clear(slots, last - first)
        for j in range(first, last):
            slot = find(slots, mask, known, known, j)
            if slots[slot] < 0:
                slots[slot] = j
            else:
                repeated += 1
        for i in range(starts[row], starts[row + 1]):
            j = slots[find(slots, mask, known, docs, i)]
            if j >= 0 and not taken[j]:
                taken[j] = True
                found[i] = grades[j]
    return found, repeated


@kernel
def ranks_before(scores: Floats, docs: Ids, i: int, j: int) -> bool:
    """Whether row ``i`` ranks before row ``j``: by score descending, then by document id descending."""
    if scores[i] != scores[j]:
        return bool(scores[i] > scores[j])
    return is_after(docs, i, j)


@kernel
def is_ranked(scores: Floats, docs: Ids, first: int, last: int) -> bool:
    """Whether the rows ``first:last`` stand in rank order."""
    for i in range(first + 1, last):
        if scores[i] >= scores[i - 1] and ranks_before(scores, docs, i, i - 1):
            return False
    return True


@kernel
def first_unranked(scores: Floats, docs: Ids, starts: Ints) -> int:
    """The first query whose rows are not in rank order, or the number of queries."""
    for query in range(starts.size - 1):
        if not is_ranked(scores, docs, starts[query], starts[query + 1]):
            return query
    return starts.size - 1


@kernel
def rank_order(scores: Floats, docs: Ids, starts: Ints) -> Ints:
    """The rows of each query in rank order, by a stable merge sort of each that needs it."""
    order = np.arange(scores.size)
    spare = np.empty_like(order)
    for query in range(starts.size - 1):
        first, last = starts[query], starts[query + 1]
        if is_ranked(scores, docs, first, last):
            continue
        width = 1
        while width < last - first:
            for low in range(first, last, 2 * width):
                _merge(order, spare, (low, min(low + width, last), min(low + 2 * width, last)), scores, docs)
            for place in range(first, last):
                order[place] = spare[place]
            width *= 2
    return order


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
