"""Conversion of folded text to word ids: find the bounds of the words, then look up each word.

A word has no zero byte, so its first sixteen bytes, padded with zeros, are two 64-bit numbers that identify a shorter
word and its length; only longer words have further bytes to hash and to compare.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.core.arrays import Bytes, Flags, Ids, Ints, Uint64s
from fastmetrics.kernels.jit import inline, kernel

_ALL = (1 << 64) - 1
_FIRST = np.array([_ALL >> (64 - 8 * min(n, 8)) for n in range(17)], np.uint64)
_SECOND = np.array([_ALL >> (64 - 8 * max(n - 8, 0)) for n in range(17)], np.uint64)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_STIR = np.uint64(0xD6E8FEB86659FD93)
_TAG = np.uint64(0xFFFFFFFF00000000)
_NUMBER = np.uint64(0x00000000FFFFFFFF)
_U0, _U1, _U2, _U3, _U4, _U5, _U6, _U7, _U8 = (np.uint64(n) for n in range(9))
_U16, _U24, _U32 = (np.uint64(n) for n in (16, 24, 32))


class Words(NamedTuple):
    """The distinct words seen so far, by number.

    ``slots`` is an open-addressing table of (upper half of the hash, number + 1).  The first sixteen bytes of word i
    are ``heads[2 * i : 2 * i + 2]``, the rest starts at ``tails[begins[i]]``; both are padded with zeros.
    """

    slots: Uint64s
    heads: Uint64s
    tails: Uint64s
    begins: Ints
    lengths: Ids
    sizes: Ints  # numbers of words and of tail entries in use


@inline
def load(data: Bytes, p: np.uint64) -> np.uint64:
    """The eight bytes from byte ``p`` on; the compiler turns this into one load."""
    low = np.uint64(data[p]) | np.uint64(data[p + _U1]) << _U8
    low |= np.uint64(data[p + _U2]) << _U16 | np.uint64(data[p + _U3]) << _U24
    high = np.uint64(data[p + _U4]) | np.uint64(data[p + _U5]) << _U8
    high |= np.uint64(data[p + _U6]) << _U16 | np.uint64(data[p + _U7]) << _U24
    return low | high << _U32


@inline
def find_edges(text: Bytes, turns: Flags, edges: Uint64s) -> int:
    """Write the start and end of each word, without branches; return the number of positions."""
    turns[0] = text[0] != 0x20
    for p in range(1, len(text)):
        turns[p] = (text[p] == 0x20) != (text[p - 1] == 0x20)
    n = _U0
    for p in range(len(text)):
        edges[n] = p
        n += np.uint64(turns[p])
    return np.int64(n)


@inline
def trim(data: Bytes, begin: int, strip: Flags, edges: Uint64s, n_words: int) -> int:
    """Strip the bytes in ``strip`` from both ends of words, drop empty words; return the number of remaining words."""
    end = 0
    for w in range(0, 2 * n_words, 2):
        first, last = begin + np.int64(edges[w]), begin + np.int64(edges[w + 1])
        while first < last and strip[data[first]]:
            first += 1
        while first < last and strip[data[last - 1]]:
            last -= 1
        edges[end], edges[end + 1] = first - begin, last - begin
        end += 2 * (first < last)
    return end >> 1


@inline
def tail(data: Bytes, p: np.uint64, n: np.uint64, k: np.uint64) -> np.uint64:
    """Bytes ``k`` to ``k + 8`` of the ``n`` bytes from byte ``p`` on, padded with zeros."""
    return load(data, p + k) & _FIRST[min(n - k, _U8)]


@kernel
def hash_tail(data: Bytes, p: np.uint64, n: np.uint64, key: np.uint64) -> np.uint64:
    """A hash of ``key`` and of the bytes from the seventeenth on."""
    k = _U16
    while k < n:
        key = (key ^ (key >> _U32) ^ tail(data, p, n, k)) * _MIX
        k += _U8
    return key


@kernel
def same_tail(tails: Uint64s, at: int, data: Bytes, p: np.uint64, n: np.uint64) -> bool:
    """Whether the bytes from the seventeenth on equal those stored at ``tails[at:]``."""
    k, same = _U16, True
    while same and k < n:
        same = tails[at] == tail(data, p, n, k)
        k += _U8
        at += 1
    return same


@kernel
def keep_tail(tails: Uint64s, at: int, data: Bytes, p: np.uint64, n: np.uint64) -> int:
    """Store the bytes from the seventeenth on at ``tails[at:]``; return their end."""
    k = _U16
    while k < n:
        tails[at] = tail(data, p, n, k)
        k += _U8
        at += 1
    return at


@kernel
def rehash(old: Uint64s, slots: Uint64s) -> None:
    """Copy the entries of the old table to the empty, larger table."""
    shift = np.uint64(64 - bits(len(slots)))
    last = np.uint64(len(slots) - 1)
    for entry in old:
        if entry != _U0:
            h = entry >> shift
            while slots[h] != _U0:
                h = (h + _U1) & last
            slots[h] = entry


@inline
def bits(n: int) -> int:
    """The exponent of ``n``, a power of two."""
    exponent = 0
    while (1 << exponent) < n:
        exponent += 1
    return exponent


@inline
def key_of(data: Bytes, p: np.uint64, n: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64]:
    """The first sixteen of the ``n`` bytes from byte ``p`` on, as two numbers, and a hash of them."""
    size = min(n, _U16)
    low, high = load(data, p) & _FIRST[size], load(data, p + _U8) & _SECOND[size]
    return low, high, (low ^ (high * _STIR)) * _MIX


@inline
def holds(entry: np.uint64, heads: Uint64s, key: np.uint64, low: np.uint64, high: np.uint64) -> bool:
    """Whether a slot's ``entry`` is a word with this hash and these first sixteen bytes."""
    i = ((entry & _NUMBER) - _U1) << _U1
    return ((entry ^ key) & _TAG) == _U0 and heads[i] == low and heads[i + _U1] == high


@kernel
def cut(data: Bytes, bounds: Ints, strip: Flags, skip: int, vocabulary: Words, ids: Ids, state: Ints) -> bool:
    """Split folded texts into numbered words; return False if the vocabulary must grow first, then call again.

    ``strip`` are the bytes to remove from both ends of a word; words numbered below ``skip`` are dropped.  ``state``
    holds the current row, its number of words, and the number of ids written; ``state[3:]`` gets each row's first id.
    """
    slots, heads, tails, begins, lengths, sizes = vocabulary
    shift, last = np.uint64(64 - bits(len(slots))), np.uint64(len(slots) - 1)
    turns, edges, lows, highs, hashes = scratch(bounds)
    strips = strip.any()
    k, number = state[2], sizes[0]
    for row in range(state[0], len(bounds) - 1):
        begin, end = bounds[row], bounds[row + 1]
        n_words = find_edges(data[begin:end], turns, edges) >> 1
        if strips:
            n_words = trim(data, begin, strip, edges, n_words)
        if number + n_words > len(begins) or sizes[1] + (end - begin) // 8 > len(tails):
            state[0], state[1], state[2] = row, n_words, k
            return False
        for w in range(np.uint64(n_words)):
            p, n = np.uint64(begin) + edges[w << _U1], edges[(w << _U1) + _U1] - edges[w << _U1]
            lows[w], highs[w], key = key_of(data, p, n)
            hashes[w] = key if n <= _U16 else hash_tail(data, p, n, key)
        for w in range(np.uint64(n_words)):
            low, high, key = lows[w], highs[w], hashes[w]
            p, n = np.uint64(begin) + edges[w << _U1], edges[(w << _U1) + _U1] - edges[w << _U1]
            h = key >> shift
            while slots[h] != _U0:
                i = (slots[h] & _NUMBER) - _U1
                same = holds(slots[h], heads, key, low, high)
                if same and (n < _U16 or (lengths[i] == np.int64(n) and same_tail(tails, begins[i], data, p, n))):
                    break
                h = (h + _U1) & last
            if slots[h] == _U0:
                heads[2 * number], heads[2 * number + 1] = low, high
                begins[number], lengths[number] = sizes[1], np.int64(n)
                if n > _U16:
                    sizes[1] = keep_tail(tails, sizes[1], data, p, n)
                number += 1
                slots[h] = (key & _TAG) | np.uint64(number)
                sizes[0] = number
            word_id = np.int64(slots[h] & _NUMBER) - 1
            ids[np.uint64(k)] = word_id
            k += word_id >= skip
        state[4 + row] = k
    state[0], state[2] = len(bounds) - 1, k
    return True


@inline
def scratch(bounds: Ints) -> tuple[Flags, Uint64s, Uint64s, Uint64s, Uint64s]:
    """Allocate the work arrays for the edges and keys of the longest text."""
    size = 0
    for row in range(len(bounds) - 1):
        size = max(size, bounds[row + 1] - bounds[row])
    keys = np.empty((3, size // 2 + 1), np.uint64)
    return np.empty(size, np.bool_), np.empty(size + 1, np.uint64), keys[0], keys[1], keys[2]
