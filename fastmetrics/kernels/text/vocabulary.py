"""The numbers of words: each distinct word of folded text is looked up in a hash table, and added if it is new.

A word has no zero byte, so its first sixteen bytes, padded with zeros, are two 64-bit numbers that identify a shorter
word and its length; only longer words have further bytes to hash and to compare.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Ids, Ints, Uint64s
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.text.blocks.byte_blocks import eight, prefetch
from fastmetrics.kernels.text.blocks.word_heads import PLACES, differ, list_bits, take_head

_ALL = (1 << 64) - 1
_MASKS = np.array([_ALL >> (64 - 8 * n) for n in range(9)], np.uint64)
"""n bytes, for each n."""
_HEADS = np.array(
    [0 if n == 16 else _ALL >> (64 - 8 * min(max(n - k, 0), 8)) for n in range(17) for k in (0, 8)], np.uint64
)
"""The first and the second eight bytes of a head of n bytes, for each n; 16 stands for longer words: none."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_STIR = np.uint64(0xD6E8FEB86659FD93)
_TAG = np.uint64(0xFFFFFFFF00000000)
_NUMBER = np.uint64(0x00000000FFFFFFFF)
_USED = np.uint64(1 << 32)
_U0, _U1, _U8, _U16, _U24, _U32, _U64 = (np.uint64(n) for n in (0, 1, 8, 16, 24, 32, 64))


class Words(NamedTuple):
    """The distinct words seen so far, by number.

    ``slots`` is an open-addressing table of (upper half of the hash, its lowest bit set; number).  The first sixteen
    bytes of word i are ``heads[2 * i : 2 * i + 2]``, the rest starts at ``tails[begins[i]]``; both are padded with
    zeros, and the head of word 0 is zero before there is one.
    """

    slots: Uint64s
    heads: Uint64s
    tails: Uint64s
    begins: Ints
    lengths: Ids
    sizes: Ints  # numbers of words and of tail entries in use


class WordKeys(NamedTuple):
    """Room for words that are looked up together: the heads and hashes, and a list of some of them.

    The head of a word of sixteen bytes or more is zero, which no word of the vocabulary has, until it is looked up.
    """

    heads: Uint64s
    keys: Uint64s
    pending: Uint64s


@inline
def tail(data: Bytes, p: np.uint64, n: np.uint64, k: np.uint64) -> np.uint64:
    """Bytes ``k`` to ``k + 8`` of the ``n`` bytes from byte ``p`` on, padded with zeros."""
    return eight(data, p + k) & _MASKS[min(n - k, _U8)]


@inline
def hash_tail(data: Bytes, p: np.uint64, n: np.uint64, key: np.uint64) -> np.uint64:
    """A hash of ``key`` and of the bytes from the seventeenth on.

    Where there are at most sixteen, the processor need not guess how many.
    """
    first = tail(data, p, max(n, _U16), _U16)
    second = tail(data, p, max(n, _U24), _U24)
    once = (key ^ (key >> _U32) ^ first) * _MIX
    twice = (once ^ (once >> _U32) ^ second) * _MIX
    key = key if n <= _U16 else (once if n <= _U24 else twice)
    k = _U32
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
    """Copy the entries of the table ``old`` to the empty, larger table ``slots``."""
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
def hash_words(data: Bytes, edges: Any, m: np.uint64, slots: Uint64s, work: WordKeys) -> None:
    """Write the head and the hash of each of ``m`` words to ``work``.

    Word w is ``data[edges[2 * w] : edges[2 * w + 1]]``.  Its slot is then on its way from memory, with those of all.
    """
    heads, keys, _ = work
    shift = np.uint64(64 - bits(len(slots)))
    for w in range(m):
        p = np.uint64(edges[w << _U1])
        n = np.uint64(edges[(w << _U1) + _U1]) - p
        low, high = take_head(data, p, _HEADS, min(n, _U16), heads, w)
        keys[w] = key = (low ^ (high * _STIR)) * _MIX
        prefetch(slots, key >> shift)


@inline
def likely_number(slots: Uint64s, key: np.uint64, shift: np.uint64) -> np.uint64:
    """The number in the slot of a key, or in the next slot if another word has it: nearly all words are in these two.

    Which of both is not guessed: the processor takes one by the hash.
    """
    h, last = key >> shift, np.uint64(len(slots) - 1)
    entry, following = slots[h], slots[(h + _U1) & last]
    return (following if ((entry ^ (key | _USED)) & _TAG) != _U0 else entry) & _NUMBER


@leaf
def match_words(m: np.uint64, vocabulary: Words, work: WordKeys, ids: Ids, k: np.uint64) -> np.uint64:
    """Write the number of each of ``m`` words to ``ids[k:]`` if it is that of its slot; return how many remain.

    Those are listed in ``work.pending``: new words, words of sixteen bytes or more, and those whose slot another word
    has.  Nothing here depends on the outcome, so that the processor need not guess it.
    """
    heads_of_words, keys, pending = work
    slots, heads = vocabulary.slots, vocabulary.heads
    shift = np.uint64(64 - bits(len(slots)))
    for w in range(m):
        number = likely_number(slots, keys[w], shift)  # any, word 0 perhaps, if the word is in neither slot
        ids[k + w] = np.int32(number)
        prefetch(heads, number << _U1)
    n_pending = w = _U0
    while w < m:
        others, end = _U0, min(w + _U64, m)
        for v in range(w, end):
            others |= differ(heads, np.uint64(np.uint32(ids[k + v])), heads_of_words, v) << (v - w)
        n_pending = list_bits(others, w, PLACES, pending, n_pending)
        w = end
    return n_pending


@leaf
def prepare_pending(data: Bytes, edges: Any, n_pending: np.uint64, vocabulary: Words, work: WordKeys) -> None:
    """Write the heads and the hashes of the long words among the first ``n_pending`` of ``work.pending``.

    What ``look_up`` compares with is then on its way from memory.
    """
    heads_of_words, keys, pending = work
    slots, heads, tails, begins, lengths, _ = vocabulary
    shift = np.uint64(64 - bits(len(slots)))
    for r in range(n_pending):
        w = pending[r]
        p = np.uint64(edges[w << _U1])
        n = np.uint64(edges[(w << _U1) + _U1]) - p
        if n >= _U16:
            low, high = eight(data, p), eight(data, p + _U8)
            heads_of_words[w << _U1], heads_of_words[(w << _U1) + _U1] = low, high
            keys[w] = hash_tail(data, p, n, (low ^ (high * _STIR)) * _MIX)
            prefetch(slots, keys[w] >> shift)
    for r in range(n_pending):
        i = slots[keys[pending[r]] >> shift] & _NUMBER
        prefetch(heads, i << _U1)
        prefetch(begins, i)
        prefetch(lengths, i)
    for r in range(n_pending):
        prefetch(tails, np.uint64(begins[slots[keys[pending[r]] >> shift] & _NUMBER]))


@leaf
def look_up(
    data: Bytes, edges: Any, n_pending: np.uint64, vocabulary: Words, work: WordKeys, ids: Ids, k: np.uint64
) -> None:
    """Write the numbers of the first ``n_pending`` words of ``work.pending``; new words are added.

    Word w of ``data`` and ``edges`` has its number at ``ids[k + w]``.
    """
    heads_of_words, keys, pending = work
    slots, heads, tails, begins, lengths, _ = vocabulary
    shift, last = np.uint64(64 - bits(len(slots))), np.uint64(len(slots) - 1)
    prepare_pending(data, edges, n_pending, vocabulary, work)
    for r in range(n_pending):
        w = pending[r]
        low, high, key = heads_of_words[w << _U1], heads_of_words[(w << _U1) + _U1], keys[w] | _USED
        p = np.uint64(edges[w << _U1])
        n = np.uint64(edges[(w << _U1) + _U1]) - p
        h = key >> shift
        entry = slots[h]
        while entry != _U0:
            i = entry & _NUMBER
            alike = ((entry ^ key) & _TAG) == _U0 and heads[i << _U1] == low and heads[(i << _U1) + _U1] == high
            if alike and (n < _U16 or (np.uint64(lengths[i]) == n and same_tail(tails, begins[i], data, p, n))):
                break
            h = (h + _U1) & last
            entry = slots[h]
        if entry == _U0:
            entry = (key & _TAG) | add(data, p, n, low, high, vocabulary)
            slots[h] = entry
        ids[k + w] = np.int32(entry & _NUMBER)


@leaf
def add(data: Bytes, p: np.uint64, n: np.uint64, low: np.uint64, high: np.uint64, vocabulary: Words) -> np.uint64:
    """Keep the new word of ``n`` bytes at ``data[p]``, which begins with ``low`` and ``high``; return its number."""
    _, heads, tails, begins, lengths, sizes = vocabulary
    number = sizes[0]
    heads[2 * number], heads[2 * number + 1] = low, high
    begins[number], lengths[number] = sizes[1], np.int64(n)
    if n > _U16:
        sizes[1] = keep_tail(tails, sizes[1], data, p, n)
    sizes[0] = number + 1
    return np.uint64(number)


@leaf
def bound_texts(ends: Uint64s, skip: np.uint64, ids: Ids, bounds: Uint64s) -> None:
    """Set the end of each text's numbers, and move them together without those below ``skip``.

    ``ends[i]`` is the end of the words of text i.  Its numbers begin at ``bounds[i]``; ``bounds[0]`` is given.
    """
    k = first = bounds[_U0]
    w = _U0
    for text in range(np.uint64(len(ends))):
        if skip == _U0:
            k = first + ends[text]
        while skip != _U0 and w < ends[text]:
            word = ids[first + w]
            ids[k] = word
            k += np.uint64(np.uint64(word) >= skip)
            w += _U1
        bounds[text + _U1] = k
