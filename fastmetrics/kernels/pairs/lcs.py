"""Longest common subsequences of lists of ids, 64 columns of the table at a time.

A row of the table (a prefix of one list) holds one bit per id of the other list: 0 where the length grows (Hyyrö 2004).
Lists of n and m ids take n · ⌈m / 64⌉ steps of a few instructions; no known algorithm has a much better worst case.
"""

from __future__ import annotations

import numpy as np

from fastmetrics.core.arrays import Ids, Ints, Uint64s
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.pairs.ngram_places import Lists

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


@leaf
def mark(ids: Ids, first: int, last: int, masks: Uint64s) -> None:
    """Set bit k in the mask of the k-th id, for up to 64 ids."""
    for i in range(first, last):
        masks[ids[i]] |= _U1 << np.uint64(i - first)


@leaf
def clear(ids: Ids, first: int, last: int, masks: Uint64s) -> None:
    """Undo ``mark``."""
    for i in range(first, last):
        masks[ids[i]] = _U0


@leaf
def block_length(b: Ids, start: int, stop: int, masks: Uint64s, carry: Uint64s) -> int:
    """Process one block of up to 64 ids of a: return its part of the length; write the carries for the next block.

    The other list is ``b[start:stop]``, with a carry for each of its ids.
    """
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
