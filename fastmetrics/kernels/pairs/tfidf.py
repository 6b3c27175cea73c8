"""Inner products of the word counts of pairs of texts.

``keep``, ``counts`` and ``weights`` have one entry per word of the vocabulary.
"""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ids, Ints
from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.pairs.ngram_places import Lists


@leaf
def tally(ids: Ids, start: int, stop: int, keep: Flags, counts: Ids) -> None:
    """Count the kept words of a text."""
    for i in range(np.uint64(start), np.uint64(stop)):
        word = np.uint32(ids[i])
        counts[word] += keep[word]


@kernel
def count_products(a: Lists, b: Lists, keep: Flags) -> Ints:
    """Per pair, in five rows: the inner product of the counts of the kept words, and the sums of squared counts: of a
    over words in both texts, of a over words in a only, of b over words in both, and of b over words in b only."""
    a_ids, a_starts, a_stops = a
    b_ids, b_starts, b_stops = b
    sums = np.zeros((5, len(a_starts)), np.int64)
    in_a, in_b = np.zeros(len(keep), np.int32), np.zeros(len(keep), np.int32)
    for row in range(len(a_starts)):
        tally(a_ids, a_starts[row], a_stops[row], keep, in_a)
        tally(b_ids, b_starts[row], b_stops[row], keep, in_b)
        product = a_both = a_alone = b_both = b_alone = 0
        for i in range(np.uint64(a_starts[row]), np.uint64(a_stops[row])):
            word = np.uint32(a_ids[i])
            x, y = np.int64(in_a[word]), np.int64(in_b[word])
            product += x * y
            a_both += x * x * (y > 0)
            a_alone += x * x * (y == 0)
            b_both += y * y * (x > 0)
            if x > 0:
                in_a[word] = in_b[word] = 0
        for i in range(np.uint64(b_starts[row]), np.uint64(b_stops[row])):
            word = np.uint32(b_ids[i])
            y = np.int64(in_b[word])
            b_alone += y * y
            in_b[word] = 0
        sums[0, row], sums[1, row], sums[2, row] = product, a_both, a_alone
        sums[3, row], sums[4, row] = b_both, b_alone
    return sums


@kernel
def weighted_products(a: Lists, b: Lists, weights: Floats) -> Floats:
    """Per pair, in three rows: the inner product of the weighted counts, and each text's sum of squares.

    The weight applies to a word's squared count and is 0 for an excluded word.
    """
    a_ids, a_starts, a_stops = a
    b_ids, b_starts, b_stops = b
    sums = np.zeros((3, len(a_starts)), np.float64)
    in_a, in_b = np.zeros(len(weights), np.int32), np.zeros(len(weights), np.int32)
    keep = weights > 0
    for row in range(len(a_starts)):
        tally(a_ids, a_starts[row], a_stops[row], keep, in_a)
        tally(b_ids, b_starts[row], b_stops[row], keep, in_b)
        product, a_squares, b_squares = 0.0, 0.0, 0.0
        for i in range(a_starts[row], a_stops[row]):
            word = a_ids[i]
            x = np.float64(in_a[word])
            product += weights[word] * x * in_b[word]
            a_squares += weights[word] * x * x
            in_a[word] = 0
        for i in range(b_starts[row], b_stops[row]):
            word = b_ids[i]
            y = np.float64(in_b[word])
            b_squares += weights[word] * y * y
            in_b[word] = 0
        sums[0, row], sums[1, row], sums[2, row] = product, a_squares, b_squares
    return sums


@kernel
def count_documents(ids: Ids, starts: Ints, stops: Ints, n_words: int) -> Ints:
    """Document frequency of each word."""
    counts = np.zeros(n_words, np.int64)
    last = np.full(n_words, -1, np.int64)
    for row in range(len(starts)):
        for i in range(starts[row], stops[row]):
            word = ids[i]
            counts[word] += last[word] != row
            last[word] = row
    return counts
