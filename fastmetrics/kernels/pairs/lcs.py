"""Longest common subsequences of lists of ids, 64 columns of the table at a time.

A row of the table (a prefix of one list) holds one bit per id of the other list: 0 where the length grows (Hyyrö 2004).
Lists of n and m ids take n · ⌈m / 64⌉ steps of a few instructions; no known algorithm has a much better worst case.
"""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Ids, Ints, Uint64s
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.pairs.ngram_places import Lists
from fastmetrics.kernels.text.blocks.byte_blocks import count_ones

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_U0, _U1 = np.uint64(0), np.uint64(1)


@inline
def zeros_of(v: np.uint64) -> int:
    """Number of bits that are 0."""
    return np.int64(count_ones(~v))


@leaf
def mark(ids: Ids, first: int, last: int, masks: Uint64s) -> None:
    """Set bit k in the mask of the k-th id, for up to 64 ids."""
    bit = _U1
    for i in range(np.uint64(first), np.uint64(last)):
        masks[np.uint32(ids[i])] |= bit
        bit <<= _U1


@leaf
def clear(ids: Ids, first: int, last: int, masks: Uint64s) -> None:
    """Undo ``mark``."""
    for i in range(np.uint64(first), np.uint64(last)):
        masks[np.uint32(ids[i])] = _U0


@leaf
def block_length(b: Ids, start: int, stop: int, masks: Uint64s, carry: Uint64s) -> int:
    """Process one block of up to 64 ids of a: return its part of the length; write the carries for the next block.

    The other list is ``b[start:stop]``, with a carry for each of its ids.
    """
    v, first = _ALL, np.uint64(start)
    for j in range(first, np.uint64(stop)):
        u = v & masks[np.uint32(b[j])]
        low = v + u
        total = low + carry[j - first]
        carry[j - first] = np.uint64(low < v) | np.uint64(total < low)
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
    for row in range(np.uint64(len(a_starts))):
        start, stop, b_start, b_stop = a_starts[row], a_stops[row], b_starts[row], b_stops[row]
        if stop - start <= 64:
            mark(a_ids, start, stop, masks)
            v = _ALL
            for j in range(np.uint64(b_start), np.uint64(b_stop)):
                mask = masks[np.uint32(b_ids[j])]
                v = (v + (v & mask)) | (v & ~mask)
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
