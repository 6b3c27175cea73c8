"""Counts of the n-grams that pairs of lists of ids share, per order.

Where an n-gram begins that both lists have, both have an (n - 1)-gram, and another one a place later.  So each order
looks only at the places that are left from the order before.

``limit``, ``shared`` and the columns of ``counters`` have one entry per n-gram of the list of a (see ``LIMIT`` and the
following); ``place`` has one per word of the vocabulary; ``grams`` are the n-grams at the places that are left.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fastmetrics.core.arrays import Ids, Ints
from fastmetrics.kernels.jit import inline, kernel, leaf

_MIX = np.uint64(0x9E3779B97F4A7C15)
_U64 = np.uint64(64)

Counts: TypeAlias = npt.NDArray[np.int64]
Counters: TypeAlias = npt.NDArray[np.int32]

DENSE = 1 << 16
"""Maximum number of slots of a table with a row for each shorter n-gram."""

LIMIT, SHARED, BEST, USED = 0, 1, 2, 3
"""Counters of each n-gram: allowed matches, whether a list of b has it, matches by the previous lists and by this list.

Each is a row with one column per n-gram; the last two are for rows with several lists of b.
"""

TOP = 1 << 30
"""The number in the tables above which they are cleared before the next row."""


class Lists(NamedTuple):
    """Lists of ids: list i is ``ids[starts[i]:stops[i]]``."""

    ids: Ids
    starts: Ints
    stops: Ints


class Places(NamedTuple):
    """Numbered words of a row, and the n-grams among them that are left: the k-th starts at ``words[at[k]]``.

    The words of the list of a are numbered from 1 on; other words of b, and the place after each list, are 0.
    """

    words: Ids
    at: Ids
    grams: Ids


class Table(NamedTuple):
    """The numbers of n-grams, each by a shorter n-gram and a word; ``keys`` are those of a hash table."""

    keys: Ints
    slots: Ids


class Shape(NamedTuple):
    """A row per shorter n-gram of ``width`` slots, or 2 ** ``bits`` slots; numbers up to ``base`` are out of date."""

    width: int
    bits: int
    base: int


class NgramArrays(NamedTuple):
    """Arrays to work in; ``place`` are the numbers of ids, ``ends`` where the places of each list of b end."""

    a: Places
    b: Places
    place: Ids
    table: Table
    counters: Counters
    ends: Ints


@leaf
def number(ids: Ids, start: int, stop: int, place: Ids, base: int, a: Places, limit: Ids) -> int:
    """Number the ids of a list in order of first use, and count each; return how many are different.

    ``place[id]`` is the number of an id + ``base``.
    """
    used = 0
    for i in range(start, stop):
        code = place[np.uint32(ids[i])]
        new = code <= base
        used += new
        code = base + used if new else code
        place[np.uint32(ids[i])] = code
        k = np.uint64(i - start)
        a.words[k] = a.grams[k] = code - base
        a.at[k] = k
        limit[np.uint32(code - base)] += 1
    return used


@leaf
def look_up(b: Lists, groups: tuple[int, int], place: Ids, base: int, out: Places, ends: Ints, shared: Ids) -> None:
    """Write the numbers of the words of some lists, and the places of those that a has."""
    i = k = np.uint64(0)
    for text in range(groups[0], groups[1]):
        for word in b.ids[b.starts[text] : b.stops[text]]:
            code = max(place[np.uint32(word)] - base, 0)
            out.words[i] = out.grams[k] = code
            out.at[k] = i
            shared[np.uint32(code)] = 1
            k += np.uint64(code > 0)
            i += np.uint64(1)
        out.words[i] = 0
        i += np.uint64(1)
        ends[text - groups[0]] = k


@inline
def slot(gram: int, word: int, shape: Shape, table: Table) -> np.uint64:
    """The table's slot for the n-gram that consists of a shorter n-gram and a word."""
    key = np.int64(gram) * np.int64(shape.width) + np.int64(word)
    h = np.uint64(key)
    if shape.bits:
        h = (h * _MIX) >> (_U64 - np.uint64(shape.bits))
        while table.slots[h] > shape.base and table.keys[h] != key:
            h = (h + np.uint64(1)) & ((np.uint64(1) << np.uint64(shape.bits)) - np.uint64(1))
    return h


@leaf
def lengthen(a: Places, n: int, order: int, shape: Shape, table: Table, limit: Ids) -> int:
    """Replace the shorter n-grams at n places by the longer ones, and count each; return how many are different."""
    if shape.bits == 0:  # compiled separately, without hashing
        return renumber(a, n, order, Shape(shape.width, 0, shape.base), table, limit)
    return renumber(a, n, order, shape, table, limit)


@inline
def renumber(a: Places, n: int, order: int, shape: Shape, table: Table, limit: Ids) -> int:
    """Like ``lengthen``."""
    used = 0
    for k in range(np.uint64(n)):
        word = a.words[np.uint64(a.at[k] + order - 1)]
        h = slot(a.grams[k], word, shape, table)
        code = table.slots[h]
        new = code <= shape.base
        used += new
        code = shape.base + used if new else code
        table.slots[h] = code
        if shape.bits:
            table.keys[h] = a.grams[k] * np.int64(shape.width) + word
        a.grams[k] = code - shape.base
        limit[np.uint32(code - shape.base)] += 1
    return used


@leaf
def extend(b: Places, ends: Ints, n_lists: int, order: int, shape: Shape, table: Table, shared: Ids) -> None:
    """Replace the shorter n-grams by the longer ones that a has, and drop the places of others."""
    k = j = np.uint64(0)
    for text in range(n_lists):
        end = np.uint64(ends[text])
        while k < end:
            at = b.at[k]
            h = slot(b.grams[k], b.words[np.uint64(at + order - 1)], shape, table)
            code = max(table.slots[h] - shape.base, 0)
            b.at[j], b.grams[j] = at, code
            shared[np.uint32(code)] = 1
            j += np.uint64(code > 0)
            k += np.uint64(1)
        ends[text] = j


@leaf
def drop(a: Places, n: int, shared: Ids) -> int:
    """Drop the places where no longer n-gram of b can begin; return how many are left."""
    a.at[np.uint64(n)] = -1
    j = np.uint64(0)
    for k in range(np.uint64(n)):
        at, gram = a.at[k], a.grams[k]
        after = k + np.uint64(1)
        follows = np.uint64(a.at[after] == at + 1) & np.uint64(shared[np.uint32(a.grams[after])])
        a.at[j], a.grams[j] = at, gram
        j += follows & np.uint64(shared[np.uint32(gram)])
    return np.int64(j)


@inline
def match(grams: Ids, first: int, last: int, counters: Counters) -> int:
    """Number of the counted n-grams that the n-grams of one list match."""
    matched = 0
    for j in range(np.uint64(first), np.uint64(last)):
        have = counters[LIMIT, np.uint32(grams[j])]
        hit = have > 0
        matched += hit
        counters[LIMIT, np.uint32(grams[j])] = have - hit
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
    """The maximum total number of ids of the lists of one group, each with a place after it."""
    most = 0
    for row in range(len(groups) - 1):
        size = 0
        for k in range(groups[row], groups[row + 1]):
            size += stops[k] - starts[k] + 1
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


@leaf
def count_matches(work: NgramArrays, first: int, n_lists: int, row: int, together: bool, shared: Ids) -> None:
    """Count the matches of the n-grams that are left: ``shared`` is per row if ``together``, else per list of b."""
    counters, grams, begin = work.counters, work.b.grams, 0
    for text in range(n_lists):
        end = work.ends[text]
        if n_lists == 1:
            shared[row if together else first] = match(grams, begin, end, counters)
        elif together:
            shared[row] += match_more(grams, begin, end, counters)
        else:
            shared[first + text] = match_each(grams, begin, end, counters)
        begin = end


@leaf
def count_rows(a: Lists, b: Lists, groups: Ints, together: bool, top: int, work: NgramArrays, shared: Counts) -> None:
    """Like ``count_ngrams``, into ``shared``, with a row per order."""
    counters, table = work.counters, work.table
    base = 0
    for row in range(len(a.starts)):
        n, first, n_lists = a.stops[row] - a.starts[row], groups[row], groups[row + 1] - groups[row]
        if base > top:
            work.place[:], table.slots[:], base = 0, 0, 0
        counters[: BEST + (n_lists > 1), : n + 1] = 0
        different = number(a.ids, a.starts[row], a.stops[row], work.place, base, work.a, counters[LIMIT])
        look_up(b, (first, first + n_lists), work.place, base, work.b, work.ends, counters[SHARED])
        width, bits = different + 1, table_bits(n, different + 1)
        for order in range(1, len(shared) + 1):
            if order > 1:
                n = drop(work.a, n, counters[SHARED])
                if n == 0:
                    break
                shape = Shape(width, bits, base)
                counters[: BEST + (n_lists > 1), : n + 1] = 0
                different = lengthen(work.a, n, order, shape, table, counters[LIMIT])
                extend(work.b, work.ends, n_lists, order, shape, table, counters[SHARED])
            base += different
            count_matches(work, first, n_lists, row, together, shared[order - 1])


@kernel
def count_ngrams(a: Lists, b: Lists, groups: Ints, n_words: int, orders: int, together: bool, top: int = TOP) -> Counts:
    """Per order and list of b: number of its n-grams matched in the list of a to which its group belongs.

    List i of a has the lists ``groups[i]:groups[i + 1]`` of b.  If ``together``, the counts are per list of a, and the
    matches of an n-gram are its maximum count over the lists of b.  Matches are clipped to the n-gram's count in a.
    """
    n_rows, n_lists = len(a.starts), len(b.starts)
    room, b_room = largest(a.starts, a.stops, np.arange(n_rows + 1)) + 1, largest(b.starts, b.stops, groups) + 1
    shared = np.zeros((orders, n_rows if together else n_lists), np.int64)
    work = NgramArrays(
        Places(np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(room, np.int32)),
        Places(np.zeros(b_room, np.int32), np.zeros(b_room, np.int32), np.zeros(b_room, np.int32)),
        np.zeros(n_words, np.int32),
        Table(np.zeros(4 * room, np.int64), np.zeros(max(4 * room, DENSE), np.int32)),
        np.zeros((4, room), np.int32),
        np.zeros(n_lists + 1, np.int64),
    )
    count_rows(a, b, groups, together, top, work, shared)
    return shared
