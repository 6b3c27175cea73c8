"""N-grams that both lists of a pair have once: longer ones there are found by comparing the ids that follow.

Only the places of other n-grams, which one of the lists has more than once, need the numbers of longer ones.  The rows
of ``counters`` have one entry per n-gram of a; ``shared`` and ``runs`` have one per order.
"""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Ids, Ints
from fastmetrics.kernels.id_blocks import ROOM, alike_ids
from fastmetrics.kernels.jit import leaf
from fastmetrics.kernels.pairs.ngram_places import (
    ALONE,
    FIRST,
    LEFT,
    LIMIT,
    SHARED,
    Counters,
    NgramArrays,
    Places,
)

_U1, _ROOM = np.uint64(1), np.uint64(ROOM)


@leaf
def sum_of_least(counters: Counters, different: int) -> int:
    """The number of n-grams that both lists have, and which of the ``different`` ones to look at further."""
    in_a, in_b, left, alone = counters[LIMIT], counters[SHARED], counters[LEFT], counters[ALONE]
    total = 0
    for gram in range(_U1, np.uint64(different + 1)):
        x, y = in_a[gram], in_b[gram]
        total += min(x, y)
        once = np.int32((x == 1) & (y == 1))
        alone[gram] = once
        left[gram] = np.int32(y > 0) - once
    left[0] = alone[0] = 0
    return total


@leaf
def keep_left(a: Places, n: int, first: Ids, left: Ids) -> int:
    """Keep the places of a with n-grams that are left; return how many.  Write a place of each n-gram to ``first``."""
    at, grams = a.at, a.grams
    j = np.uint64(0)
    for k in range(np.uint64(n)):
        place, gram = at[k], grams[k]
        first[np.uint32(gram)] = place
        at[j], grams[j] = place, gram
        j += np.uint64(left[np.uint32(gram)])
    return np.int64(j)


@leaf
def set_lone_apart(b: Places, n: int, counters: Counters, lone: Counters) -> tuple[int, int]:
    """Keep the places of b with n-grams that are left, and list those both lists have once; return how many of each."""
    at, grams = b.at, b.grams
    first, left, alone, of_a, of_b = counters[FIRST], counters[LEFT], counters[ALONE], lone[0], lone[1]
    j = s = np.uint64(0)
    for k in range(np.uint64(n)):
        place, gram = at[k], grams[k]
        of_a[s], of_b[s] = first[np.uint32(gram)], place
        s += np.uint64(alone[np.uint32(gram)])
        at[j], grams[j] = place, gram
        j += np.uint64(left[np.uint32(gram)])
    return np.int64(j), np.int64(s)


@leaf
def follow_lone(work: NgramArrays, n: int, order: int, orders: int) -> None:
    """Count how far the ids stay equal after each of the ``n`` n-grams that both lists have once."""
    a, b, of_a, of_b, runs = work.a.words, work.b.words, work.lone[0], work.lone[1], work.runs
    most = np.uint64(orders - order)
    for k in range(np.uint64(n)):
        i, j = np.uint64(of_a[k] + order), np.uint64(of_b[k] + order)
        more = alike = alike_ids(a, i, b, j)
        while more == _ROOM and alike < most:
            more = alike_ids(a, i + alike, b, j + alike)
            alike += more
        runs[np.uint64(order) + min(alike, most)] += 1
    runs[order] -= n  # they are counted in this order and in those before


@leaf
def separate(work: NgramArrays, n: int, order: int, orders: int) -> int:
    """Settle the n-grams that both lists have once; return how many places of a are left, and keep those."""
    counters = work.counters
    n = keep_left(work.a, n, counters[FIRST], counters[LEFT])
    work.ends[0], n_lone = set_lone_apart(work.b, work.ends[0], counters, work.lone)
    follow_lone(work, n_lone, order, orders)
    return n


@leaf
def add_runs(runs: Ints, shared: Ints) -> None:
    """Add the n-grams that equal ids continue to those of each order, and clear ``runs``."""
    longer = 0
    for order in range(len(shared), 0, -1):
        longer += runs[order]
        shared[order - 1] += longer
        runs[order] = 0
