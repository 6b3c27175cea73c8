"""Counts over all pairs of two sets of token lists: the n-grams that each list of one shares with each of the other.

The k-th occurrence of an n-gram in a list is a feature with a number of its own, so a multiset intersection is the
number of common features.  ``number_ngrams`` numbers the features of the lists of one side, each once, and ``post``
notes which lists have each; ``count_features`` then walks the lists of one feature after the other.  Features of many
lists are bits, of which 64 are compared at a time.  An n-gram can only match where its (n - 1)-gram matches.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fastmetrics.base.arrays import Ids, Ints, Uint64s
from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.lcs import block_length, clear, mark, zeros_of
from fastmetrics.kernels.ngrams import Counts, Lists

_MIX = np.uint64(0x9E3779B97F4A7C15)
_U0, _U1, _U32 = (np.uint64(n) for n in (0, 1, 32))
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_FIRST_SLOTS = 1 << 12

Features: TypeAlias = npt.NDArray[np.int32]


class Grams(NamedTuple):
    """Numbers of n-grams, a hash table: the key is the number of the (n - 1)-gram, above the last id + 1.

    Number 0 is the empty n-gram.  The first occurrence of an n-gram in a list is the feature of the same number, and
    ``following[f]`` is the feature of the occurrence after f's, 0 if no list has it.
    """

    keys: Uint64s
    numbers: Ids
    following: Ids


class Posted(NamedTuple):
    """The lists that have feature f: ``lists[starts[f]:starts[f + 1]]``; or if it has a bit, ``bits[f]`` from 0 on,
    those with the bit in ``lines``, a line of the lists for each 64 bits.

    Features of order n have the lines ``lines[firsts[n - 1]:firsts[n]]``.
    """

    starts: Ints
    lists: Ids
    bits: Ids
    lines: Uint64s
    firsts: Ints


@leaf
def slot_of(keys: Uint64s, key: np.uint64) -> int:
    """The slot of a key, or the free one where it belongs."""
    last = np.uint64(len(keys) - 1)
    slot = (key * _MIX) >> _U32 & last
    while keys[slot] != _U0 and keys[slot] != key:
        slot = (slot + _U1) & last
    return np.int64(slot)


@kernel
def doubled(keys: Uint64s, numbers: Ids) -> tuple[Uint64s, Ids]:
    """The table with twice as many slots."""
    wider, moved = np.zeros(2 * len(keys), np.uint64), np.zeros(2 * len(keys), np.int32)
    for i in range(len(keys)):
        if keys[i] != _U0:
            slot = slot_of(wider, keys[i])
            wider[slot] = keys[i]
            moved[slot] = numbers[i]
    return wider, moved


@kernel
def number_ngrams(texts: Lists, orders: int, distinct: bool) -> tuple[Grams, Features, Ints]:
    """Number the n-grams of all lists; return them, the feature at each place per order (0: none), and the bounds of
    the features of each order.  With ``distinct``, only first occurrences are features.
    """
    ids, starts, stops = texts
    total = (stops - starts).sum()
    features, grams = np.zeros((orders, total), np.int32), np.zeros(total, np.int32)
    keys, numbers = np.zeros(_FIRST_SLOTS, np.uint64), np.zeros(_FIRST_SLOTS, np.int32)
    # At most one feature for each place and order, and number 0.
    following, latest = np.zeros(orders * total + 1, np.int32), np.zeros(orders * total + 1, np.int32)
    firsts = np.ones(orders + 1, np.int64)
    size = 1
    for order in range(orders):
        # The places of all lists lie one after the other, each list from its base on.
        base = 0
        for row in range(len(starts)):
            n = stops[row] - starts[row] - order
            for i in range(base, base + n):
                if 2 * size > len(keys):
                    keys, numbers = doubled(keys, numbers)
                # The number of the shorter n-gram says its order too, so one table does for all.  With + 1 no key is 0,
                # which is a free slot.
                key = np.uint64(grams[i]) << _U32 | np.uint64(ids[starts[row] + order + i - base] + 1)
                slot = slot_of(keys, key)
                if keys[slot] == _U0:
                    keys[slot] = key
                    numbers[slot] = size
                    size += 1
                gram = numbers[slot]
                grams[i] = gram
                # The first occurrence in this list; a later one is the feature that follows the one before, made when
                # first needed.
                if latest[gram] == 0:
                    latest[gram] = features[order, i] = gram
                elif not distinct:
                    before = latest[gram]
                    if following[before] == 0:
                        following[before] = size
                        size += 1
                    latest[gram] = features[order, i] = following[before]
            for i in range(base, base + n):
                # Only what this list has set, since there are many more n-grams.
                latest[grams[i]] = 0
            base += stops[row] - starts[row]
        firsts[order + 1] = size
    return Grams(keys, numbers, following[:size].copy()), features, firsts


@kernel
def post(features: Features, sizes: Ints, n_features: int) -> tuple[Ints, Ids]:
    """The lists that have each feature; ``sizes`` are the numbers of tokens of the lists."""
    # A counting sort.  Counts lie two places on and their sums one place on, so that entry f + 1 first says where
    # feature f begins, and, once its lists are written, where it ends.
    starts = np.zeros(n_features + 3, np.int64)
    for order in range(features.shape[0]):
        for i in range(features.shape[1]):
            starts[features[order, i] + 2] += features[order, i] > 0
    for feature in range(n_features + 1):
        starts[feature + 2] += starts[feature + 1]
    lists = np.zeros(starts[n_features + 2], np.int32)
    for order in range(features.shape[0]):
        i = 0
        for row in range(len(sizes)):
            for _ in range(sizes[row]):
                feature = features[order, i]
                if feature > 0:
                    lists[starts[feature + 1]] = row
                    starts[feature + 1] += 1
                i += 1
    return starts[:-1], lists


@kernel
def draw_lines(posted: Posted) -> None:
    """Set the bits of the features that have one."""
    starts, lists, bits, lines, _ = posted
    for feature in range(len(bits)):
        if bits[feature] >= 0:
            for k in range(starts[feature], starts[feature + 1]):
                lines[bits[feature] >> 6, lists[k]] |= _U1 << np.uint64(bits[feature] & 63)


@leaf
def next_feature(grams: Grams, latest: Ids, gram: int) -> int:
    """The feature of the next occurrence of an n-gram in a list, -1 if no list of the other side has so many.

    ``latest`` (features,) has at each n-gram the feature of its last occurrence in this list, 0 before the first.
    """
    before = latest[gram]
    feature = gram if before == 0 else -1
    if before > 0 and grams.following[before] > 0:
        feature = grams.following[before]
    latest[gram] = feature
    return feature


@kernel
def count_features(texts: Lists, grams: Grams, posted: Posted, shared: Counts) -> None:
    """Add to ``shared[order, i, j]`` the number of features of list i that list j of the other side has."""
    ids, starts, stops = texts
    longest = 0
    for row in range(len(starts)):
        longest = max(longest, stops[row] - starts[row])
    numbers, latest = np.zeros(longest, np.int32), np.zeros(len(grams.following), np.int32)
    marks = np.zeros(posted.firsts[-1], np.uint64)
    for row in range(len(starts)):
        n = stops[row] - starts[row]
        numbers[:n] = 0
        for order in range(min(shared.shape[0], n)):
            counts = shared[order, row]
            for i in range(n - order):
                # The other side lacks the shorter n-gram, hence the longer one.
                if numbers[i] < 0:
                    continue
                key = np.uint64(numbers[i]) << _U32 | np.uint64(ids[starts[row] + order + i] + 1)
                slot = slot_of(grams.keys, key)
                if grams.keys[slot] == _U0:
                    numbers[i] = -1
                    continue
                numbers[i] = grams.numbers[slot]
                feature = next_feature(grams, latest, numbers[i])
                if feature < 0:
                    continue
                bit = posted.bits[feature]
                # A feature of many lists is noted, and added to 64 at a time below; those of a few lists one by one.
                if bit >= 0:
                    marks[bit >> 6] |= _U1 << np.uint64(bit & 63)
                else:
                    for k in range(posted.starts[feature], posted.starts[feature + 1]):
                        counts[np.uint32(posted.lists[k])] += 1
            for i in range(n - order):
                # -1, of n-grams that the other side lacks, becomes 0, which is no n-gram.
                latest[max(numbers[i], 0)] = 0
            for line in range(posted.firsts[order], posted.firsts[order + 1]):
                if marks[line] != _U0:
                    add_ones(marks[line], posted.lines[line], counts)
                    marks[line] = _U0


@leaf
def add_ones(marks: np.uint64, line: Uint64s, counts: Ints) -> None:
    """Add to each list's count in ``counts`` (lists,) the number of its bits in ``line`` (lists,) that are marked."""
    for j in range(len(counts)):
        counts[j] += zeros_of(~(marks & line[j]))


@kernel
def lcs_of_all(a: Lists, b: Lists, n_words: int) -> Ints:
    """Length of the longest common subsequence of each list of a with each list of b."""
    a_ids, a_starts, a_stops = a
    b_ids, b_starts, b_stops = b
    lengths = np.zeros((len(a_starts), len(b_starts)), np.int64)
    masks = np.zeros(n_words, np.uint64)
    carry = np.zeros((b_stops - b_starts).sum(), np.uint64)
    for row in range(len(a_starts)):
        carry[:] = _U0
        for first in range(a_starts[row], a_stops[row], 64):
            last = min(first + 64, a_stops[row])
            mark(a_ids, first, last, masks)
            # One block needs no carries.
            if first == a_starts[row] and last == a_stops[row]:
                for k in range(len(b_starts)):
                    v = _ALL
                    for j in range(b_starts[k], b_stops[k]):
                        u = v & masks[b_ids[j]]
                        v = (v + u) | (v & ~u)
                    lengths[row, k] = zeros_of(v)
            else:
                # A block meets all lists of b before the next one, so each list keeps the carries of its ids.
                base = 0
                for k in range(len(b_starts)):
                    size = b_stops[k] - b_starts[k]
                    lengths[row, k] += block_length(b_ids, b_starts[k], b_stops[k], masks, carry[base : base + size])
                    base += size
            clear(a_ids, first, last, masks)
    return lengths
