"""Counts over pairs of token lists: what they share, as sets and as multisets, and how many are distinct.

Words index as unsigned numbers, which spares the test for an index below 0.
"""

from __future__ import annotations

import numpy as np

from fastmetrics.arrays import Flags, Ids, Ints
from fastmetrics.kernels._jit import kernel


@kernel
def count_shared(a: Ids, a_starts: Ints, a_stops: Ints, b: Ids, b_starts: Ints, b_stops: Ints, n_words: int) -> Ints:
    """Per pair: size of the multiset intersection."""
    common = np.zeros(len(a_starts), np.int64)
    left = np.zeros(n_words, np.int32)
    for row in range(len(a_starts)):
        of_a, of_b = a[a_starts[row] : a_stops[row]], b[b_starts[row] : b_stops[row]]
        for word in of_a:
            left[np.uint32(word)] += 1
        shared = 0
        for word in of_b:
            have = left[np.uint32(word)]
            taken = have > 0
            shared += taken
            left[np.uint32(word)] = have - taken
        for word in of_a:
            left[np.uint32(word)] = 0
        common[row] = shared
    return common


@kernel
def count_sets(a: Ids, a_starts: Ints, a_stops: Ints, b: Ids, b_starts: Ints, b_stops: Ints, n_words: int) -> Ints:
    """Per pair, in three rows: distinct tokens of a, distinct tokens of b, distinct tokens of both."""
    counts = np.zeros((3, len(a_starts)), np.int64)
    seen = np.full(n_words, -1, np.int32)
    for row in range(len(a_starts)):
        in_a, in_b = 2 * row, 2 * row + 1
        distinct_a = distinct_b = shared = 0
        for word in a[a_starts[row] : a_stops[row]]:
            distinct_a += seen[np.uint32(word)] != in_a
            seen[np.uint32(word)] = in_a
        for word in b[b_starts[row] : b_stops[row]]:
            last = seen[np.uint32(word)]
            shared += last == in_a
            distinct_b += last != in_b
            seen[np.uint32(word)] = in_b
        counts[0, row] = distinct_a
        counts[1, row] = distinct_b
        counts[2, row] = shared
    return counts


@kernel
def same_sequence(a: Ids, a_starts: Ints, a_stops: Ints, b: Ids, b_starts: Ints, b_stops: Ints) -> Flags:
    """Per pair: whether both have the same tokens in the same order."""
    same = np.zeros(len(a_starts), np.bool_)
    for row in range(len(a_starts)):
        n = a_stops[row] - a_starts[row]
        equal = n == b_stops[row] - b_starts[row]
        k = 0
        while equal and k < n:
            equal = a[a_starts[row] + k] == b[b_starts[row] + k]
            k += 1
        same[row] = equal
    return same
