"""Longest common subsequences of lists of ids, 64 columns of the table at a time.

The table's row for a prefix of one list is kept as one bit an id of the other: 0 where the length grows (Hyyrö 2004).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.arrays import Ids, Ints, Uint64s
from fastmetrics.kernels._jit import inline, kernel
from fastmetrics.kernels.ngrams import Lists

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_U0, _U1, _U2, _U4, _U56 = (np.uint64(n) for n in (0, 1, 2, 4, 56))
_M1, _M2, _M4 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES = np.uint64(0x0101010101010101)


@inline
def zeros_of(v: np.uint64) -> int:
    """Number of bits that are 0."""
    x = ~v
    x = x - ((x >> _U1) & _M1)
    x = (x & _M2) + ((x >> _U2) & _M2)
    return np.int64((((x + (x >> _U4)) & _M4) * _ONES) >> _U56)


@inline
def mark(ids: Ids, first: int, last: int, masks: Uint64s) -> None:
    """Set bit k in the mask of the k-th of up to 64 ids."""
    for i in range(first, last):
        masks[ids[i]] |= _U1 << np.uint64(i - first)


@inline
def clear(ids: Ids, first: int, last: int, masks: Uint64s) -> None:
    """Undo ``mark``."""
    for i in range(first, last):
        masks[ids[i]] = _U0


@kernel
def block_length(b: Ids, start: int, stop: int, masks: Uint64s, carry: Uint64s) -> int:
    """What one block of up to 64 ids of a adds to the length, and the carries for the next block."""
    v = _ALL
    for j in range(start, stop):
        u = v & masks[b[j]]
        low = v + u
        total = low + carry[j - start]
        carry[j - start] = np.uint64(low < v) | np.uint64(total < low)
        v = total | (v & ~u)
    return zeros_of(v)


@kernel
def lcs_lengths(a: Lists, b: Lists, n_words: int) -> Ints:
    """Per pair: length of the longest common subsequence."""
    a_ids, a_starts, a_stops = a
    b_ids, b_starts, b_stops = b
    lengths = np.zeros(len(a_starts), np.int64)
    masks = np.zeros(n_words, np.uint64)
    longest = 0
    for row in range(len(a_starts)):
        longest = max(longest, b_stops[row] - b_starts[row])
    carry = np.zeros(longest, np.uint64)
    for row in range(len(a_starts)):
        start, stop, b_start, b_stop = a_starts[row], a_stops[row], b_starts[row], b_stops[row]
        if stop - start <= 64:
            mark(a_ids, start, stop, masks)
            v = _ALL
            for j in range(b_start, b_stop):
                u = v & masks[b_ids[j]]
                v = (v + u) | (v & ~u)
            lengths[row] = zeros_of(v)
            clear(a_ids, start, stop, masks)
        else:
            carry[: b_stop - b_start] = _U0
            for first in range(start, stop, 64):
                last = min(first + 64, stop)
                mark(a_ids, first, last, masks)
                lengths[row] += block_length(b_ids, b_start, b_stop, masks, carry)
                clear(a_ids, first, last, masks)
    return lengths


@kernel
def trace(b: Ids, start: int, stop: int, masks: Uint64s, carry: Uint64s, rows: Uint64s) -> None:
    """As ``block_length``, but keep every row of the table's block."""
    v = _ALL
    for j in range(stop - start):
        u = v & masks[b[start + j]]
        low = v + u
        total = low + carry[j]
        carry[j] = np.uint64(low < v) | np.uint64(total < low)
        v = total | (v & ~u)
        rows[j] = v


@kernel
def walk(reference: Ids, answer: Ids, rows: Uint64s, taken: Ids) -> None:
    """Mark the reference's ids that one longest common subsequence takes, the one rouge-score reads off its table.

    From the end: equal ids are taken; else the answer's id is left if the length up to both exceeds that without the
    reference's id, else the reference's id is.
    """
    i, j, n = len(reference), len(answer), len(answer)
    while i > 0 and j > 0:
        if reference[i - 1] == answer[j - 1]:
            taken[i - 1] = 1
            i -= 1
            j -= 1
        elif (rows[((i - 1) >> 6) * n + j - 1] >> np.uint64((i - 1) & 63)) & _U1 == _U0:
            j -= 1
        else:
            i -= 1


@kernel
def mark_lcs(reference: Ids, answer: Ids, masks: Uint64s, carry: Uint64s, rows: Uint64s, taken: Ids) -> None:
    """Mark the reference's ids in its longest common subsequence with the answer."""
    n = len(answer)
    carry[:n] = _U0
    for first in range(0, len(reference), 64):
        last = min(first + 64, len(reference))
        mark(reference, first, last, masks)
        trace(answer, 0, n, masks, carry, rows[(first >> 6) * n :])
        clear(reference, first, last, masks)
    walk(reference, answer, rows, taken)


@kernel
def count_hits(reference: Ids, answer: Ids, taken: Ids, left: Ids, answer_left: Ids) -> int:
    """Taken ids of the reference, each counted no more often than either text has it; the counters end all 0."""
    for word in reference:
        left[word] += 1
    for word in answer:
        answer_left[word] += 1
    hits = 0
    for i in range(len(reference)):
        word = reference[i]
        if taken[i] and left[word] > 0 and answer_left[word] > 0:
            hits += 1
            left[word] -= 1
            answer_left[word] -= 1
    for word in reference:
        left[word] = 0
    for word in answer:
        answer_left[word] = 0
    return hits


class Texts(NamedTuple):
    """Lists in sequence: text t is made of the lists ``firsts[t]:lasts[t]``, each a slice of ``ids``."""

    ids: Ids
    starts: Ints
    stops: Ints
    firsts: Ints
    lasts: Ints


@kernel
def room(texts: Texts, rows: Ints) -> tuple[int, int]:
    """The most ids that a list, and that a text, of ``rows`` has."""
    longest = most = 0
    for row in rows:
        size = 0
        for k in range(texts.firsts[row], texts.lasts[row]):
            longest = max(longest, texts.stops[k] - texts.starts[k])
            size += texts.stops[k] - texts.starts[k]
        most = max(most, size)
    return longest, most


@kernel
def join(texts: Texts, row: int, out: Ids) -> int:
    """Write the lists of a text one after another; how many ids they have."""
    size = 0
    for k in range(texts.firsts[row], texts.lasts[row]):
        for i in range(texts.starts[k], texts.stops[k]):
            out[size] = texts.ids[i]
            size += 1
    return size


@kernel
def union_hits(answer: Texts, reference: Texts, rows: Ints, n_words: int) -> Ints:
    """Per row: ids of the reference that its lists' longest common subsequences with all lists of the answer take."""
    hits = np.zeros(len(rows), np.int64)
    longest, size = room(answer, rows)
    reference_longest, reference_size = room(reference, rows)
    a, b, taken = np.zeros(size, np.int32), np.zeros(reference_size, np.int32), np.zeros(reference_size, np.int32)
    masks, left = np.zeros(n_words, np.uint64), np.zeros((2, n_words), np.int32)
    carry, table = np.zeros(longest, np.uint64), np.zeros(((reference_longest + 63) >> 6) * longest, np.uint64)
    for at in range(len(rows)):
        row = rows[at]
        n, m = join(answer, row, a), join(reference, row, b)
        taken[:m] = 0
        start = 0
        for r in range(reference.firsts[row], reference.lasts[row]):
            stop = start + reference.stops[r] - reference.starts[r]
            i = 0
            for k in range(answer.firsts[row], answer.lasts[row]):
                j = i + answer.stops[k] - answer.starts[k]
                mark_lcs(b[start:stop], a[i:j], masks, carry, table, taken[start:stop])
                i = j
            start = stop
        hits[at] = count_hits(b[:m], a[:n], taken, left[0], left[1])
    return hits
