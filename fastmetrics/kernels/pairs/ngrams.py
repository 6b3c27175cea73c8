"""Counts of the n-grams that pairs of lists of ids share, per order."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fastmetrics.core.arrays import Ids, Ints
from fastmetrics.kernels.jit import inline, kernel

_MIX = np.uint64(0x9E3779B97F4A7C15)
_U64 = np.uint64(64)

Counts: TypeAlias = npt.NDArray[np.int64]
Counters: TypeAlias = npt.NDArray[np.int32]
Shape: TypeAlias = tuple[int, int]

DENSE = 1 << 16
"""Maximum number of slots of a table with a row for each shorter n-gram."""

LIMIT, BEST, USED = 0, 1, 2
"""Columns per n-gram: allowed matches, matches by the previous lists, matches by this list."""

TOP = 1 << 30
"""The number in the tables above which they are cleared before the next row."""


class Lists(NamedTuple):
    """Lists of ids: list i is ``ids[starts[i]:stops[i]]``."""

    ids: Ids
    starts: Ints
    stops: Ints


@inline
def number(ids: Ids, start: int, stop: int, place: Ids, base: int, out: Ids) -> int:
    """Number the ids of a list 1, 2, … in order of first use, into ``out``; return how many.

    ``place[id]`` is its number + ``base``; an entry up to ``base`` comes from an earlier list.
    """
    used = 0
    for i in range(start, stop):
        code = place[ids[i]]
        new = code <= base
        used += new
        code = base + used if new else code
        place[ids[i]] = code
        out[i - start] = code - base
    return used


@inline
def slot(gram: int, word: int, width: int, bits: int, keys: Ints, table: Ids, base: int) -> int:
    """The table's slot for the n-gram that consists of a shorter n-gram and a word.

    The table has a row per shorter n-gram if ``bits`` is 0; else it is a hash table of 2 ** ``bits`` slots.
    """
    h = gram * np.int64(width) + word
    if bits:
        key = h
        h = np.int64((np.uint64(key) * _MIX) >> (_U64 - np.uint64(bits)))
        while table[h] > base and keys[h] != key:
            h = (h + 1) & ((1 << bits) - 1)
    return h


@inline
def lengthen(grams: Ids, words: Ids, n: int, order: int, row: Shape, keys: Ints, table: Ids, base: int) -> int:
    """Replace the number of the shorter n-gram at each of n positions by that of the longer one; return how many."""
    width, bits = row
    used = 0
    for i in range(n):
        h = slot(grams[i], words[i + order - 1], width, bits, keys, table, base)
        code = table[h]
        new = code <= base
        used += new
        code = base + used if new else code
        table[h] = code
        if bits:
            keys[h] = grams[i] * np.int64(width) + words[i + order - 1]
        grams[i] = code - base
    return used


@inline
def extend(grams: Ids, words: Ids, n: int, order: int, row: Shape, keys: Ints, table: Ids, base: int) -> None:
    """Like ``lengthen`` without new entries in the table; an n-gram that is not in the table gets 0."""
    width, bits = row
    for j in range(n):
        h = slot(grams[j], words[j + order - 1], width, bits, keys, table, base)
        grams[j] = max(table[h] - base, 0)


@inline
def look_up(b: Lists, first: int, last: int, place: Ids, base: int, out: Ids) -> int:
    """Write the numbers that ``number`` gave to the ids of some lists, 0 for other ids; return how many."""
    ids, starts, stops = b
    size = 0
    for k in range(first, last):
        for i in range(starts[k], stops[k]):
            out[size] = max(place[ids[i]] - base, 0)
            size += 1
    return size


@inline
def tally(grams: Ids, n: int, different: int, counters: Counters) -> None:
    """Count each n-gram and reset its matches."""
    counters[LIMIT, : different + 1] = 0
    counters[BEST, : different + 1] = 0
    for i in range(n):
        counters[LIMIT, grams[i]] += 1


@inline
def match(grams: Ids, first: int, last: int, counters: Counters) -> int:
    """Number of the counted n-grams that the n-grams of one list match."""
    matched = 0
    for j in range(first, last):
        have = counters[LIMIT, grams[j]]
        hit = have > 0
        matched += hit
        counters[LIMIT, grams[j]] = have - hit
    return matched


@inline
def match_more(grams: Ids, first: int, last: int, counters: Counters) -> int:
    """Number of the counted n-grams that one of several lists matches in addition to the previous lists."""
    more = 0
    for j in range(first, last):
        g = grams[j]
        counters[USED, g] += 1
        if counters[USED, g] > counters[BEST, g] and counters[BEST, g] < counters[LIMIT, g]:
            counters[BEST, g] += 1
            more += 1
    for j in range(first, last):
        counters[USED, grams[j]] = 0
    return more


@inline
def match_each(grams: Ids, first: int, last: int, counters: Counters) -> int:
    """Number of the counted n-grams that one list matches, independent of the other lists."""
    matched = 0
    for j in range(first, last):
        g = grams[j]
        counters[USED, g] += 1
        matched += counters[USED, g] <= counters[LIMIT, g]
    for j in range(first, last):
        counters[USED, grams[j]] = 0
    return matched


@kernel
def largest(starts: Ints, stops: Ints, groups: Ints) -> int:
    """The maximum total number of ids of the lists of one group."""
    most = 0
    for row in range(len(groups) - 1):
        size = 0
        for k in range(groups[row], groups[row + 1]):
            size += stops[k] - starts[k]
        most = max(most, size)
    return most


@kernel
def table_bits(n: int, width: int) -> int:
    """The bits of a hash table for n n-grams; 0 if a table with a row for each n-gram is small enough."""
    bits = 0
    if (n + 1) * width > DENSE:
        bits = 1
        while (1 << bits) < 2 * n:
            bits += 1
    return bits


@kernel
def count_ngrams(a: Lists, b: Lists, groups: Ints, n_words: int, orders: int, together: bool, top: int = TOP) -> Counts:
    """Per order and list of b: number of its n-grams matched in the list of a to which its group belongs.

    List i of a has the lists ``groups[i]:groups[i + 1]`` of b.  If ``together``, the counts are per list of a, and the
    matches of an n-gram are its maximum count over the lists of b.  Matches are clipped to the n-gram's count in a.
    """
    ids, starts, stops = a
    b_starts, b_stops = b.starts, b.stops
    n_rows = len(starts)
    room, b_room = largest(starts, stops, np.arange(n_rows + 1)) + 1, largest(b_starts, b_stops, groups) + 1
    shared = np.zeros((orders, n_rows if together else len(b_starts)), np.int64)
    words, grams, counters = np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros((3, room), np.int32)
    others, other_grams = np.zeros(b_room, np.int32), np.zeros(b_room, np.int32)
    place, base = np.zeros(n_words, np.int32), 0
    keys, table = np.zeros(4 * room, np.int64), np.zeros(max(4 * room, DENSE), np.int32)
    for row in range(n_rows):
        n, begin, end = stops[row] - starts[row], groups[row], groups[row + 1]
        if base > top:
            place[:], table[:], base = 0, 0, 0
        different = number(ids, starts[row], stops[row], place, base, words)
        size = look_up(b, begin, end, place, base, others)
        grams[:n], other_grams[:size] = words[:n], others[:size]
        shape = (different + 1, table_bits(n, different + 1))
        base += different
        for order in range(1, min(orders, n) + 1):
            if order > 1:
                different = lengthen(grams, words, n - order + 1, order, shape, keys, table, base)
                extend(other_grams, others, size - order + 1, order, shape, keys, table, base)
                base += different
            tally(grams, n - order + 1, different, counters)
            first = 0
            for k in range(begin, end):
                last = first + b_stops[k] - b_starts[k]
                if together and end - begin > 1:
                    shared[order - 1, row] += match_more(other_grams, first, last - order + 1, counters)
                elif end - begin > 1:
                    shared[order - 1, k] = match_each(other_grams, first, last - order + 1, counters)
                else:
                    at = row if together else k
                    shared[order - 1, at] = match(other_grams, first, last - order + 1, counters)
                first = last
    return shared
