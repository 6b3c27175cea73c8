"""The order of a ranking by trec_eval's rule: by score descending, and documents of equal score by id descending."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.ranking.ids import Ids, is_after, longest_row

_SHORT = 16
"""Rows that are sorted by insertion before they are merged."""


@inline
def ranks_before(scores: Floats, docs: Ids, i: int, j: int) -> bool:
    """Whether row ``i`` ranks before row ``j``: by score descending, then by document id descending."""
    return scores[i] > scores[j] or (scores[i] == scores[j] and is_after(docs, i, j))


@leaf
def is_ranked(scores: Floats, docs: Ids, first: int, last: int) -> bool:
    """Whether the rows ``first:last`` are in rank order."""
    for i in range(first + 1, last):  # noqa: SIM110 - a generator expression does not compile
        if ranks_before(scores, docs, i, i - 1):
            return False
    return True


@leaf
def all_ranked(scores: Floats, docs: Ids, starts: Ints) -> bool:
    """Whether all queries are in rank order; query q has the rows ``starts[q]:starts[q + 1]``."""
    for query in range(starts.size - 1):  # noqa: SIM110 - a generator expression does not compile
        if not is_ranked(scores, docs, starts[query], starts[query + 1]):
            return False
    return True


@kernel
def in_rank_order(values: Floats, scores: Floats, docs: Ids, starts: Ints) -> Floats:
    """``values`` sorted by rank within each query ``starts[q]:starts[q + 1]``."""
    ordered = values.copy()
    longest = longest_row(starts)
    sort_queries((values, scores, docs, starts), np.empty(longest, np.int64), np.empty(longest, np.int64), ordered)
    return ordered


@leaf
def sort_queries(rows: tuple[Floats, Floats, Ids, Ints], order: Ints, spare: Ints, ordered: Floats) -> None:
    """Write the values of unsorted queries into ``ordered``; sort stably, by insertion and then by merging.

    ``rows`` are values, scores, ids and the start of each query; ``order`` and ``spare`` have room for
    the longest query.
    """
    values, scores, docs, starts = rows
    for query in range(starts.size - 1):
        first, size = starts[query], starts[query + 1] - starts[query]
        if is_ranked(scores, docs, first, first + size):
            continue
        for low in range(0, size, _SHORT):
            _insert(order, low, min(low + _SHORT, size), first, scores, docs)
        width = _SHORT
        while width < size:
            for low in range(0, size, 2 * width):
                _merge(order, spare, (low, min(low + width, size), min(low + 2 * width, size)), scores, docs)
            order, spare = spare, order
            width *= 2
        for place in range(size):
            ordered[first + place] = values[order[place]]


@leaf
def _insert(order: Ints, low: int, high: int, first: int, scores: Floats, docs: Ids) -> None:
    """Sort the rows ``first + low:first + high`` into ``order[low:high]`` by insertion."""
    for at in range(low, high):
        place = at
        while place > low and ranks_before(scores, docs, first + at, order[place - 1]):
            order[place] = order[place - 1]
            place -= 1
        order[place] = first + at


@leaf
def _merge(order: Ints, spare: Ints, bounds: tuple[int, int, int], scores: Floats, docs: Ids) -> None:
    """Merge the sorted rows of ``order`` before and after the middle of the bounds into the same place of ``spare``."""
    low, middle, high = bounds
    left, right = low, middle
    for place in range(low, high):
        if left < middle and (right >= high or not ranks_before(scores, docs, order[right], order[left])):
            spare[place] = order[left]
            left += 1
        else:
            spare[place] = order[right]
            right += 1
