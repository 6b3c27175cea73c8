"""Counts over pairs of token lists: shared tokens as sets and multisets, stretches, inner products of word counts."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ids, Ints
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.ngrams import Lists

# Counts over pairs of token lists: shared tokens as sets and as multisets, and distinct tokens.
#
# Words are unsigned indexes, which avoids the test for a negative index.


@inline
def match_one(remaining: Ids, of_b: Ids) -> int:
    """Size of the multiset intersection of the words ``of_b`` with ``remaining``, which loses the matched words.

    ``remaining`` has one entry per word of the vocabulary: how often it remains in a.
    """
    shared = 0
    for word in of_b:
        have = remaining[np.uint32(word)]
        # Without a branch: whether a word is shared is unpredictable.
        hit = have > 0
        shared += hit
        remaining[np.uint32(word)] = have - hit
    return shared


@inline
def match_each(remaining: Ids, used: Ids, of_b: Ids) -> int:
    """Like ``match_one`` of ``remaining`` and ``of_b``, without removal.

    ``used``, with one entry per word too, is 0 before and after the call.
    """
    shared = 0
    # The k-th occurrence in b matches if a has the word at least k times.
    for word in of_b:
        used[np.uint32(word)] += 1
        shared += used[np.uint32(word)] <= remaining[np.uint32(word)]
    for word in of_b:
        used[np.uint32(word)] = 0
    return shared


@kernel
def count_shared(
    a: Ids, a_starts: Ints, a_stops: Ints, b: Ids, b_starts: Ints, b_stops: Ints, groups: Ints, n_words: int
) -> Ints:
    """Per list of b: size of its multiset intersection with the list of a to which its group belongs.

    List i of a has the lists ``groups[i]:groups[i + 1]`` of b, and its words are counted once for all of them.
    """
    common = np.zeros(len(b_starts), np.int64)
    remaining, used = np.zeros((2, n_words), np.int32)
    for row in range(len(a_starts)):
        of_a = a[a_starts[row] : a_stops[row]]
        for word in of_a:
            remaining[np.uint32(word)] += 1
        first, last = groups[row], groups[row + 1]
        # A single list may use up the counts of a; several must each find all of them.
        if last - first == 1:
            common[first] = match_one(remaining, b[b_starts[first] : b_stops[first]])
        else:
            for k in range(first, last):
                common[k] = match_each(remaining, used, b[b_starts[k] : b_stops[k]])
        # By word, since the vocabulary is much larger than a row.
        for word in of_a:
            remaining[np.uint32(word)] = 0
    return common


@kernel
def count_sets(
    a: Ids, a_starts: Ints, a_stops: Ints, b: Ids, b_starts: Ints, b_stops: Ints, groups: Ints, n_words: int
) -> Ints:
    """Per list of ``b``, in three rows: distinct tokens of its list of a, of the list of ``b``, and of both."""
    counts = np.zeros((3, len(b_starts)), np.int64)
    # The last row or list with each word: nothing has to be cleared between them.
    in_a, in_b = np.full(n_words, -1, np.int32), np.full(n_words, -1, np.int32)
    for row in range(len(a_starts)):
        distinct_a = 0
        for word in a[a_starts[row] : a_stops[row]]:
            distinct_a += in_a[np.uint32(word)] != row
            in_a[np.uint32(word)] = row
        for k in range(groups[row], groups[row + 1]):
            distinct_b = shared = 0
            for word in b[b_starts[k] : b_stops[k]]:
                new = in_b[np.uint32(word)] != k
                in_b[np.uint32(word)] = k
                distinct_b += new
                shared += new & (in_a[np.uint32(word)] == row)
            counts[0, k] = distinct_a
            counts[1, k] = distinct_b
            counts[2, k] = shared
    return counts


@kernel
def same_sequence(a: Ids, a_starts: Ints, a_stops: Ints, b: Ids, b_starts: Ints, b_stops: Ints) -> Flags:
    """Per pair of lists of ``a`` and ``b``: whether both have the same tokens in the same order."""
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


@kernel
def overlap_shares(shared: Ints, of_a: Ints, of_b: Ints) -> Floats:
    """Per pair, in three rows: ``shared / of_a``, ``shared / of_b``, and their harmonic mean; 0 where one divides by 0.

    Operations are in the order of the SQuAD script.
    """
    shares = np.zeros((3, len(shared)))
    for k in range(len(shared)):
        precision = shared[k] / of_a[k] if of_a[k] != 0 else 0.0
        recall = shared[k] / of_b[k] if of_b[k] != 0 else 0.0
        total = precision + recall
        shares[0, k], shares[1, k] = precision, recall
        shares[2, k] = 2 * precision * recall / total if total != 0 else 0.0
    return shares


# Lists that occur within others, by the algorithm of Knuth, Morris and Pratt: linear in the ids of both.


@leaf
def fall_backs(ids: Ids, first: int, last: int, borders: Ids) -> None:
    """Write for each prefix of a list how many of its last ids are also its first ones, the whole prefix excluded."""
    borders[0] = k = 0
    for i in range(1, last - first):
        while k > 0 and ids[first + i] != ids[first + k]:
            k = borders[k - 1]
        k += ids[first + i] == ids[first + k]
        borders[i] = k


@leaf
def occurs(a: Ids, start: int, stop: int, b: Ids, first: int, last: int, borders: Ids) -> bool:
    """Whether a list of ``b``, not an empty one, is a stretch of a list of ``a``."""
    size = last - first
    k = 0
    for i in range(start, stop):
        while k > 0 and a[i] != b[first + k]:
            k = borders[k - 1]
        k += a[i] == b[first + k]
        if k == size:
            return True
    return False


@kernel
def within_any(a: Lists, a_groups: Ints, most: int, b: Lists, b_groups: Ints) -> Flags:
    """Per list of ``b``: whether it is a stretch of one of the first ``most`` lists of ``a`` in its row.

    An empty list is one of an empty list only.
    """
    found = np.zeros(len(b.starts), np.bool_)
    longest = 1
    for k in range(len(b.starts)):
        longest = max(longest, b.stops[k] - b.starts[k])
    borders = np.zeros(longest, np.int32)
    for row in range(len(b_groups) - 1):
        for k in range(b_groups[row], b_groups[row + 1]):
            first, last = b.starts[k], b.stops[k]
            if last > first:
                fall_backs(b.ids, first, last, borders)
            for j in range(a_groups[row], min(a_groups[row + 1], a_groups[row] + most)):
                if last == first:
                    found[k] |= a.starts[j] == a.stops[j]
                elif not found[k]:
                    found[k] = occurs(a.ids, a.starts[j], a.stops[j], b.ids, first, last, borders)
    return found


# Inner products of the word counts of pairs of texts.
#
# ``keep``, ``counts`` and ``weights`` have one entry per word of the vocabulary.


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
            # A word counts at its first occurrence; at others its counts are then 0.  What in_b keeps is in b only.
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
