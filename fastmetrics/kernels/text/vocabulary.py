"""The numbers of words: each distinct word of folded text is looked up in a hash table, and added if it is new.

A word has no zero byte, so its first sixteen bytes, padded with zeros, are two 64-bit numbers that identify a shorter
word and its length; only longer words have further bytes to hash and to compare.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.core.arrays import Bytes, Ids, Ints, Uint64s
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.text.byte_blocks import eight, prefetch

_ALL = (1 << 64) - 1
_FIRST = np.array([_ALL >> (64 - 8 * min(n, 8)) for n in range(17)], np.uint64)
_SECOND = np.array([_ALL >> (64 - 8 * max(n - 8, 0)) for n in range(17)], np.uint64)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_STIR = np.uint64(0xD6E8FEB86659FD93)
_TAG = np.uint64(0xFFFFFFFF00000000)
_NUMBER = np.uint64(0x00000000FFFFFFFF)
_U0, _U1, _U2, _U3, _U8, _U16, _U32 = (np.uint64(n) for n in (0, 1, 2, 3, 8, 16, 32))


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
def tail(data: Bytes, p: np.uint64, n: np.uint64, k: np.uint64) -> np.uint64:
    """Bytes ``k`` to ``k + 8`` of the ``n`` bytes from byte ``p`` on, padded with zeros."""
    return eight(data, p + k) & _FIRST[min(n - k, _U8)]


@leaf
def hash_tail(data: Bytes, p: np.uint64, n: np.uint64, key: np.uint64) -> np.uint64:
    """A hash of ``key`` and of the bytes from the seventeenth on."""
    k = _U16
    while k < n:
        key = (key ^ (key >> _U32) ^ tail(data, p, n, k)) * _MIX
        k += _U8
    return key


@leaf
def same_tail(tails: Uint64s, at: int, data: Bytes, p: np.uint64, n: np.uint64) -> bool:
    """Whether the bytes from the seventeenth on equal those stored at ``tails[at:]``."""
    k, same = _U16, True
    while same and k < n:
        same = tails[at] == tail(data, p, n, k)
        k += _U8
        at += 1
    return same


@leaf
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


@leaf
def find_entries(data: Bytes, edges: Uint64s, m: np.uint64, slots: Uint64s, heads: Uint64s, keys: Uint64s) -> None:
    """Write four numbers for each of ``m`` words: first sixteen bytes, hash, and the first entry that may be theirs.

    Word w is ``data[edges[2 * w] : edges[2 * w + 1]]``.  What the next step needs of each word is then on its way from
    memory, for all words at once.
    """
    shift = np.uint64(64 - bits(len(slots)))
    for w in range(m):
        p = edges[w << _U1]
        n = edges[(w << _U1) + _U1] - p
        size = min(n, _U16)
        low, high = eight(data, p) & _FIRST[size], eight(data, p + _U8) & _SECOND[size]
        key = (low ^ (high * _STIR)) * _MIX
        if n > _U16:
            key = hash_tail(data, p, n, key)
        at = w << _U2
        keys[at], keys[at + _U1], keys[at + _U2] = low, high, key
        prefetch(slots, key >> shift)
    for w in range(m):
        at = w << _U2
        entry = slots[keys[at + _U2] >> shift]
        keys[at + _U3] = entry
        prefetch(heads, (entry & _NUMBER) * _U2 - _U2)


@leaf
def look_up(
    data: Bytes,
    edges: Uint64s,
    ends: Uint64s,
    keys: Uint64s,
    vocabulary: Words,
    skip: np.uint64,
    ids: Ids,
    bounds: Uint64s,
) -> None:
    """Write the numbers of the words of some texts, except those below ``skip``; new words are added.

    ``ends[i]`` is the end of the words of text i.  Its numbers begin at ``bounds[i]``; ``bounds[0]`` is given.
    """
    slots, heads, tails, begins, lengths, _ = vocabulary
    shift, last = np.uint64(64 - bits(len(slots))), np.uint64(len(slots) - 1)
    w, k = _U0, bounds[_U0]
    for text in range(np.uint64(len(ends))):
        while w < ends[text]:
            low, high, key, entry = (
                keys[w << _U2],
                keys[(w << _U2) + _U1],
                keys[(w << _U2) + _U2],
                keys[(w << _U2) + _U3],
            )
            h = key >> shift
            if entry == _U0:
                entry = slots[h]  # an earlier word may have taken the place
            while entry != _U0:
                i = (entry & _NUMBER) - _U1
                if ((entry ^ key) & _TAG) == _U0 and heads[i << _U1] == low and heads[(i << _U1) + _U1] == high:
                    p = edges[w << _U1]
                    n = edges[(w << _U1) + _U1] - p
                    if n < _U16 or (np.uint64(lengths[i]) == n and same_tail(tails, begins[i], data, p, n)):
                        break
                h = (h + _U1) & last
                entry = slots[h]
            if entry == _U0:
                p = edges[w << _U1]
                entry = (key & _TAG) | add(data, p, edges[(w << _U1) + _U1] - p, low, high, vocabulary)
                slots[h] = entry
            word = (entry & _NUMBER) - _U1
            ids[k] = np.int32(word)
            k += np.uint64(word >= skip)
            w += _U1
        bounds[text + _U1] = k


@leaf
def add(data: Bytes, p: np.uint64, n: np.uint64, low: np.uint64, high: np.uint64, vocabulary: Words) -> np.uint64:
    """Keep a new word; return the number of words."""
    _, heads, tails, begins, lengths, sizes = vocabulary
    number = sizes[0]
    heads[2 * number], heads[2 * number + 1] = low, high
    begins[number], lengths[number] = sizes[1], np.int64(n)
    if n > _U16:
        sizes[1] = keep_tail(tails, sizes[1], data, p, n)
    sizes[0] = number + 1
    return np.uint64(number + 1)
