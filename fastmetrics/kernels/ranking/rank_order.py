"""The order of a ranking by trec_eval's rule: by score descending, and documents of equal score by id descending."""

from __future__ import annotations

import numpy as np

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.kernels.jit import kernel
from fastmetrics.kernels.ranking.ids import Ids, is_after


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
