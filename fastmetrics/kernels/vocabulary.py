"""Folded text to word ids: find the ends of the words, then look each word up.

A word has no zero byte, so its first sixteen bytes, zeros above them, are two 64-bit numbers that tell it and its length
from every other word; only a longer word has more to hash and to compare.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.arrays import Bytes, Flags, Ids, Ints, Uint64s
from fastmetrics.kernels._jit import inline, kernel

_ALL = (1 << 64) - 1
_FIRST = np.array([_ALL >> (64 - 8 * min(n, 8)) for n in range(17)], np.uint64)
_SECOND = np.array([_ALL >> (64 - 8 * max(n - 8, 0)) for n in range(17)], np.uint64)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_STIR = np.uint64(0xD6E8FEB86659FD93)
_TAG = np.uint64(0xFFFFFFFF00000000)
_NUMBER = np.uint64(0x00000000FFFFFFFF)
_U0, _U1, _U3, _U7, _U8, _U16, _U32, _U63 = (np.uint64(n) for n in (0, 1, 3, 7, 8, 16, 32, 63))


class Words(NamedTuple):
    """The distinct words seen so far, by number.

    ``slots`` is an open-addressing table of (upper half of the hash, number + 1); the bytes of word i, padded with
    zeros to two numbers or more, are from ``arena[begins[i]]`` on.
    """

    slots: Uint64s
    arena: Uint64s
    begins: Ints
    lengths: Ids
    sizes: Ints  # number of words, arena in use


@inline
def load(words: Uint64s, p: np.uint64) -> np.uint64:
    """The eight bytes from byte ``p`` on."""
    i, shift = p >> _U3, (p & _U7) << _U3
    return (words[i] >> shift) | ((words[i + _U1] << _U1) << (_U63 - shift))


@inline
def find_edges(data: Bytes, begin: int, end: int, edges: Uint64s) -> int:
    """Write where words begin and end, in turn, without a branch for each; how many places."""
    n, after_space = 0, True
    for p in range(begin, end):
        space = data[p] == 0x20
        edges[n] = p
        n += space != after_space
        after_space = space
    return n


@inline
def trimmed(data: Bytes, first: int, last: int, strip: Flags) -> tuple[int, int]:
    """The ends of ``data[first:last]`` without the bytes in ``strip``."""
    while first < last and strip[data[first]]:
        first += 1
    while first < last and strip[data[last - 1]]:
        last -= 1
    return first, last


@inline
def tail(words: Uint64s, p: np.uint64, n: np.uint64, k: np.uint64) -> np.uint64:
    """Bytes ``k`` to ``k + 8`` of the ``n`` from byte ``p`` on, zeros above them."""
    return load(words, p + k) & _FIRST[min(n - k, _U8)]


@kernel
def hash_tail(words: Uint64s, p: np.uint64, n: np.uint64, key: np.uint64) -> np.uint64:
    """A hash of ``key`` and of the bytes from the seventeenth on."""
    k = _U16
    while k < n:
        key = (key ^ (key >> _U32) ^ tail(words, p, n, k)) * _MIX
        k += _U8
    return key


@kernel
def same_tail(arena: Uint64s, at: np.uint64, words: Uint64s, p: np.uint64, n: np.uint64) -> bool:
    """Whether the word kept at ``arena[at:]`` has the bytes from the seventeenth on."""
    k, same = _U16, True
    while same and k < n:
        same = arena[at + (k >> _U3)] == tail(words, p, n, k)
        k += _U8
    return same


@kernel
def keep_tail(arena: Uint64s, at: np.uint64, words: Uint64s, p: np.uint64, n: np.uint64) -> None:
    """Keep the bytes from the seventeenth on of the word at ``arena[at:]``."""
    k = _U16
    while k < n:
        arena[at + (k >> _U3)] = tail(words, p, n, k)
        k += _U8
    # ends with a number of its own that is zero when n is a multiple of eight: not needed


@kernel
def rehash(old: Uint64s, slots: Uint64s) -> None:
    """Fill the empty, larger table with the entries of the old one."""
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


@kernel
def cut(
    words: Uint64s, data: Bytes, bounds: Ints, strip: Flags, skip: int, vocabulary: Words, ids: Ids, state: Ints
) -> bool:
    """Cut folded texts into words and number them; False when the vocabulary must grow first, then call again.

    ``strip`` are the bytes cut off both ends of a word; words numbered below ``skip`` are left out.  ``state`` holds
    the row to go on from, the room it needs, and how many ids are written; ``state[3:]`` gets each row's first id.
    """
    slots, arena, begins, lengths, sizes = vocabulary
    shift, last_slot = np.uint64(64 - bits(len(slots))), np.uint64(len(slots) - 1)
    edges = np.empty(longest(bounds) + 1, np.uint64)
    strips = strip.any()
    k, number, used = state[2], sizes[0], np.uint64(sizes[1])
    for row in range(state[0], len(bounds) - 1):
        n_edges = find_edges(data, bounds[row], bounds[row + 1], edges)
        if number + n_edges // 2 > len(begins) or np.int64(used) + n_edges + (bounds[row + 1] - bounds[row]) // 8 > len(arena):
            state[0], state[2] = row, k
            sizes[0], sizes[1] = number, np.int64(used)
            return False
        for w in range(0, n_edges, 2):
            p, stop = edges[w], edges[w + 1]
            if strips:
                first, last = trimmed(data, np.int64(p), np.int64(stop), strip)
                p, stop = np.uint64(first), np.uint64(last)
                if first == last:
                    continue
            n = stop - p
            short = min(n, _U16)
            low, high = load(words, p) & _FIRST[short], load(words, p + _U8) & _SECOND[short]
            key = (low ^ (high * _STIR)) * _MIX
            if n > _U16:
                key = hash_tail(words, p, n, key)
            h, tag = key >> shift, key & _TAG
            entry = slots[h]
            found = np.int64(-1)
            while entry != _U0:
                if entry & _TAG == tag:
                    at = np.uint64(begins[(entry & _NUMBER) - _U1])
                    if arena[at] == low and arena[at + _U1] == high and (n <= _U16 or same_tail(arena, at, words, p, n)):
                        found = np.int64(entry & _NUMBER) - 1
                        break
                h = (h + _U1) & last_slot
                entry = slots[h]
            if found < 0:
                found = number
                begins[number], lengths[number] = np.int64(used), np.int64(n)
                number += 1
                slots[h] = tag | np.uint64(number)
                arena[used], arena[used + _U1] = low, high
                if n > _U16:
                    keep_tail(arena, used, words, p, n)
                used += max(np.uint64(2), (n + _U7) >> _U3)
            ids[k] = found
            k += found >= skip
        state[4 + row] = k
    state[0], state[2] = len(bounds) - 1, k
    sizes[0], sizes[1] = number, np.int64(used)
    return True


@inline
def longest(bounds: Ints) -> int:
    """The size of the longest text."""
    size = 0
    for row in range(len(bounds) - 1):
        size = max(size, bounds[row + 1] - bounds[row])
    return size
