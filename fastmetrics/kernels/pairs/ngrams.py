"""Counts of the n-grams that pairs of lists of ids share, per order.

The rows of ``counters`` have one entry per n-gram of the list of a, ``grams`` are the n-grams at places of b.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fastmetrics.base.arrays import Ids, Ints
from fastmetrics.kernels.id_blocks import ROOM
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.pairs.letter_ngrams import PAIRS, TRIPLES, count_letters, fit
from fastmetrics.kernels.pairs.lone_ngrams import add_runs, separate, sum_of_least
from fastmetrics.kernels.pairs.ngram_places import (
    BEST,
    FIRST,
    LIMIT,
    SHARED,
    USED,
    Counters,
    LetterTables,
    Lists,
    NgramArrays,
    Places,
    Shape,
    Table,
    drop,
    extend,
    lengthen,
    look_up,
    number,
)

Counts: TypeAlias = npt.NDArray[np.int64]

DENSE = 1 << 16
"""Maximum number of slots of a table with a row for each shorter n-gram."""

TOP = 1 << 30
"""The number in the tables above which they are cleared before the next row."""


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
def match_lists(work: NgramArrays, first: int, n_lists: int, row: int, together: bool, shared: Counts) -> None:
    """Count the matches of the n-grams that are left: ``shared`` is per row if ``together``, else per list of b."""
    begin = 0
    for text in range(n_lists):
        end = work.ends[text]
        if together:
            shared[row] += match_more(work.b.grams, begin, end, work.counters)
        else:
            shared[first + text] = match_each(work.b.grams, begin, end, work.counters)
        begin = end


@leaf
def count_rows(a: Lists, b: Lists, groups: Ints, together: bool, top: int, work: NgramArrays, shared: Counts) -> None:
    """Like ``count_ngrams``, into ``shared``, with a row per order."""
    counters, table, orders = work.counters, work.table, len(shared)
    base = 0
    for row in range(len(a.starts)):
        n, first, n_lists = a.stops[row] - a.starts[row], groups[row], groups[row + 1] - groups[row]
        alone = n_lists == 1
        to = row if together else first
        if base > top:
            work.place[:], table.slots[:], base = 0, 0, 0
        counters[: SHARED + 1 if alone else BEST + 1, : n + 1] = 0
        different = number(a.ids, a.starts[row], a.stops[row], work.place, base, work.a, counters[LIMIT])
        look_up(b, (first, first + n_lists), work.place, base, work.b, work.ends, counters[SHARED])
        base += different
        width, order = different + 2, 1
        if alone:
            shared[0, to] = sum_of_least(counters, different)
        else:
            match_lists(work, first, n_lists, row, together, shared[0])
        if alone and orders > 2 and n > 2 and fit(n, width):
            sizes = n, b.stops[first] - b.starts[first]
            shared[1, to], shared[2, to], different = count_letters(work, sizes, width, top, counters[FIRST:])
            n, order = n - 2, 3
        while order < orders:
            n = separate(work, n, order, orders) if alone else drop(work.a, n, counters[SHARED])
            if n == 0:
                break
            order += 1
            shape = Shape(width, table_bits(max(n, different), width), base)
            counters[: SHARED + 1 if alone else BEST + 1, : n + 1] = 0
            different = lengthen(work.a, n, order, shape, table, counters[LIMIT])
            extend(work.b, work.ends, n_lists, order, shape, table, counters[SHARED])
            base += different
            if alone:
                shared[order - 1, to] = sum_of_least(counters, different)
            else:
                match_lists(work, first, n_lists, row, together, shared[order - 1])
        if alone:
            add_runs(work.runs, shared[:, to])


@kernel
def count_ngrams(a: Lists, b: Lists, groups: Ints, n_words: int, orders: int, together: bool, top: int = TOP) -> Counts:
    """Per order and list of b: number of its n-grams matched in the list of a to which its group belongs.

    List i of a has the lists ``groups[i]:groups[i + 1]`` of b.  If ``together``, the counts are per list of a, and the
    matches of an n-gram are its maximum count over the lists of b.  Matches are clipped to the n-gram's count in a.
    """
    n_rows, n_lists = len(a.starts), len(b.starts)
    room = max(largest(a.starts, a.stops, np.arange(n_rows + 1)), largest(b.starts, b.stops, groups)) + ROOM
    shared = np.zeros((orders, n_rows if together else n_lists), np.int64)
    rows, letters = np.zeros((15, room), np.int32), np.zeros(PAIRS + TRIPLES, np.uint16)
    sizes = np.zeros(2 + orders + 1 + n_lists, np.int64)
    work = NgramArrays(
        Places(rows[0], rows[1], rows[2]),
        Places(rows[3], rows[4], rows[5]),
        np.zeros(n_words, np.int32),
        Table(np.zeros(4 * room, np.int64), np.zeros(max(4 * room, DENSE), np.int32)),
        LetterTables(letters[:PAIRS], letters[PAIRS:], sizes[:2]),
        rows[8:],
        sizes[3 + orders :],
        rows[6:8],
        sizes[2 : 3 + orders],
    )
    count_rows(a, b, groups, together, top, work, shared)
    return shared
