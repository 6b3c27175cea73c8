"""Text to word ids: the edges of the words of a text, then a hash table that numbers each distinct word."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints, Uint64s
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.simd.blocks import BLOCK, copy_block, eight, prefetch, read_only
from fastmetrics.kernels.simd.words import PLACES, differ, list_bits, take_head
from fastmetrics.kernels.word_boundaries import (
    Blocks,
    Rules,
    classify,
    copy_text,
    fold_exactly,
    fold_high,
    is_direct,
    list_edges,
)

# The numbers of words: each distinct word of folded text is looked up in a hash table, and added if it is new.
#
# A word has no zero byte, so its first sixteen bytes, padded with zeros, are two 64-bit numbers that identify a
# shorter word and its length; only longer words have further bytes to hash and to compare.
#
# The hash depends on two random numbers of the process: with a known hash, anyone could write a text whose words all
# have one slot, so that each is compared with all before it.  Words are numbered in the order of the text, whatever
# the hash.


_ALL = (1 << 64) - 1
_MASKS = np.array([_ALL >> (64 - 8 * n) for n in range(9)], np.uint64)
"""n bytes, for each n."""
_HEADS = np.array(
    [0 if n == 16 else _ALL >> (64 - 8 * min(max(n - k, 0), 8)) for n in range(17) for k in (0, 8)], np.uint64
)
"""The first and the second eight bytes of a head of n bytes, for each n; 16 stands for longer words: none."""
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
    secret: Uint64s  # a random number and a random odd number


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
def folded_product(number: np.uint64) -> np.uint64:
    """The product of both halves: unlike that with a constant, nobody knows how it changes with a bit of ``number``.

    ``number`` is secret; for two that differ in known bits, the difference of the products has one of 2³² values.
    """
    return (number & _NUMBER) * (number >> _U32)


@inline
def hash_head(low: np.uint64, high: np.uint64, mask: np.uint64, odd: np.uint64) -> np.uint64:
    """A hash of the first sixteen bytes, whose upper bits select a slot; ``mask`` and ``odd`` are the secret."""
    return (low ^ folded_product(high ^ mask)) * odd


@inline
def hash_tail(data: Bytes, p: np.uint64, n: np.uint64, key: np.uint64, odd: np.uint64) -> np.uint64:
    """A hash of ``key``, that of the head, and of the bytes from the seventeenth on; ``odd`` is secret.

    Where there are at most sixteen, the processor need not guess how many.
    """
    first = tail(data, p, max(n, _U16), _U16)
    second = tail(data, p, max(n, _U24), _U24)
    once = folded_product(key ^ first) * odd
    twice = folded_product(once ^ second) * odd
    key = key if n <= _U16 else (once if n <= _U24 else twice)
    k = _U32
    while k < n:
        key = folded_product(key ^ tail(data, p, n, k)) * odd
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
    # Listed first: which slots are used cannot be guessed.
    entries, n = np.empty(len(old), np.uint64), _U0
    for entry in old:
        entries[n] = entry
        n += np.uint64(entry != _U0)
    for entry in entries[:n]:
        # The upper half of the hash is in the entry, enough for the slots of any table: no word is hashed again.
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
def hash_words(data: Bytes, edges: Any, m: np.uint64, slots: Uint64s, secret: Uint64s, work: WordKeys) -> None:
    """Write the head and the hash of each of ``m`` words to ``work``.

    Word w is ``data[edges[2 * w] : edges[2 * w + 1]]``.  Its slot is then on its way from memory, with those of all.
    """
    heads, keys, _ = work
    shift, mask, odd = np.uint64(64 - bits(len(slots))), secret[0], secret[1]
    for w in range(m):
        p = np.uint64(edges[w << _U1])
        n = np.uint64(edges[(w << _U1) + _U1]) - p
        low, high = take_head(data, p, _HEADS, min(n, _U16), heads, w)
        keys[w] = key = hash_head(low, high, mask, odd)
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
            # One bit for each word, with no branch; the words whose bit is set are then listed.
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
    slots, heads, tails, begins, lengths, _, secret = vocabulary
    shift, mask, odd = np.uint64(64 - bits(len(slots))), secret[0], secret[1]
    for r in range(n_pending):
        w = pending[r]
        p = np.uint64(edges[w << _U1])
        n = np.uint64(edges[(w << _U1) + _U1]) - p
        if n >= _U16:
            low, high = eight(data, p), eight(data, p + _U8)
            heads_of_words[w << _U1], heads_of_words[(w << _U1) + _U1] = low, high
            keys[w] = hash_tail(data, p, n, hash_head(low, high, mask, odd), odd)
            prefetch(slots, keys[w] >> shift)
    # A loop for each step, so that all words wait for memory at once and not one after the other.
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
    slots, heads, tails, begins, lengths, _, _ = vocabulary
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
            # A word of less than sixteen bytes ends its head with a zero byte, so equal heads mean equal words.
            alike = ((entry ^ key) & _TAG) == _U0 and heads[i << _U1] == low and heads[(i << _U1) + _U1] == high
            if alike and (n < _U16 or (np.uint64(lengths[i]) == n and same_tail(tails, begins[i], data, p, n))):
                break
            # Linear probing; no entry is ever removed.
            h = (h + _U1) & last
            entry = slots[h]
        if entry == _U0:
            entry = (key & _TAG) | add(data, p, n, low, high, vocabulary)
            slots[h] = entry
        ids[k + w] = np.int32(entry & _NUMBER)


@leaf
def add(data: Bytes, p: np.uint64, n: np.uint64, low: np.uint64, high: np.uint64, vocabulary: Words) -> np.uint64:
    """Keep the new word of ``n`` bytes at ``data[p]``, which begins with ``low`` and ``high``; return its number."""
    _, heads, tails, begins, lengths, sizes, _ = vocabulary
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
            # Nothing is dropped, so the numbers stay where they are.
            k = first + ends[text]
        while skip != _U0 and w < ends[text]:
            word = ids[first + w]
            ids[k] = word
            k += np.uint64(np.uint64(word) >= skip)
            w += _U1
        bounds[text + _U1] = k


# Conversion of tokens of one convention to another, computed once per distinct word.


_LINE = np.uint64(16)
"""The ids of a cache line."""


@kernel
def spell(vocabulary: Words, first: int, out: Bytes, bounds: Ints) -> None:
    """Write the concatenated bytes of the words from number ``first`` on."""
    _, heads, tails, begins, lengths, _, _ = vocabulary
    short, long = heads.view(out.dtype), tails.view(out.dtype)
    j = 0
    for i in range(len(bounds) - 1):
        number = first + i
        n = lengths[number]
        # Where both arrays have room, 64 bytes at once are quicker than a loop over the few of a word.
        if 16 * number + BLOCK <= len(short) and j + BLOCK <= len(out):
            copy_block(short, np.uint64(16 * number), out, np.uint64(j))  # more than the head, and written over later
        else:
            for k in range(min(n, 16)):
                out[j + k] = short[16 * number + k]
        for k in range(16, n):
            out[j + k] = long[8 * begins[number] + k - 16]
        j += n
        bounds[i + 1] = j


@kernel
def rewrite(split: Ids, starts: Ints, stops: Ints, become: Ids, pieces: Ids, places: Ints, out: Ids) -> Ints:
    """Replace every id i in ``split`` by ``become[i]``; return the start of each text in ``out``.

    -1 removes the id, and -2 - p replaces it by several ids: ``pieces[places[p]:places[p + 1]]``.  A batch of texts
    uses most lines of ``become``, and memory answers faster if it is read in order before.
    """
    for i in range(np.uint64(0), np.uint64(len(become)), _LINE):
        prefetch(become, i)
    bounds = np.zeros(len(starts) + 1, np.int64)
    j = np.uint64(0)
    for row in range(len(starts)):
        for k in range(np.uint64(starts[row]), np.uint64(stops[row])):
            new_id = become[np.uint32(split[k])]
            if new_id >= -1:
                out[j] = new_id
                j += np.uint64(new_id >= 0)
            else:
                for piece in range(places[-2 - new_id], places[-1 - new_id]):
                    out[j] = pieces[piece]
                    j += np.uint64(1)
        bounds[row + 1] = j
    return bounds


# Conversion of text to word ids: find the edges of the words of some texts, then look up all of them.


CHUNK_WORDS = 1024
"""Words that are looked up together, or those of one text if it has more."""
CHUNK_BYTES = 16 * CHUNK_WORDS
SHORT_BYTES = np.uint64(512)
"""Bytes of short texts that are folded together, with a space after each."""

_U2 = np.uint64(2)
_BLOCK = np.uint64(BLOCK)


class Work(NamedTuple):
    """Arrays to work in: the edges of the words of some texts, the end of each text's words, and what is looked up."""

    blocks: Blocks
    edges: Any
    ends: Uint64s
    word_keys: WordKeys


class WordIds(NamedTuple):
    """The ids of all texts; ``bounds[i]`` is the first of text i.  ``left`` marks texts that only Python can fold."""

    ids: Ids
    bounds: Uint64s
    left: Flags
    state: Ints  # the next text; the words and tail entries that it and those after it may add


@inline
def fold_quickly(rules: Rules, blocks: Blocks, source: Bytes, start: np.uint64, j: np.uint64, n: np.uint64) -> bool:
    """Fold the ``n`` bytes at ``source[start]`` to ``blocks.folded[j]``, and mark them; False if not exactly."""
    high, rare = classify(rules, blocks, source, start, j, n)
    return rules.folded or (
        rare == np.uint64(0) and (high == np.uint64(0) or fold_high(rules, blocks, source, start, j, n))
    )


@inline
def list_words(
    data: Bytes, start: int, stop: int, rules: Rules, work: Work, j: np.uint64, e: np.uint64
) -> tuple[np.uint64, int]:
    """Fold a text and list the edges of its words; return the end of that list, and the folded length or -1."""
    source, at, n = data, np.uint64(start), np.uint64(stop - start)
    if not is_direct(data, at, n):
        copy_text(data, at, n, work.blocks.raw, j)
        source, at = read_only(work.blocks.raw), j
    quick = fold_quickly(rules, work.blocks, source, at, j, n)
    size = stop - start if quick else fold_exactly(rules, work.blocks, source, at, j, n)
    if size > 0:
        e = list_edges(rules, work.blocks, j, np.uint64(size), work.edges, e)
    return e, size


@leaf
def list_short_texts(
    data: Bytes, starts: Ints, stops: Ints, rules: Rules, work: Work, j: np.uint64, e: np.uint64, row: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """List the edges of the words of texts from ``row`` on, folded together with spaces between them.

    Return the text after them, the end of the list, and their bytes: none if they must be folded one by one.
    """
    n, last = np.uint64(0), row
    most = min(np.uint64(len(starts)), np.uint64(len(work.ends)))
    while last < most and n + np.uint64(stops[last] - starts[last]) < SHORT_BYTES:
        size = np.uint64(stops[last] - starts[last])
        copy_text(data, np.uint64(starts[last]), size, work.blocks.raw, j + n)
        n += size + _U1
        work.blocks.raw[j + n - _U1] = 0x20
        last += _U1
    # One character beyond the rules, and its text must be folded alone, so all of them are.
    if not fold_quickly(rules, work.blocks, read_only(work.blocks.raw), j, j, n):
        return last, e, np.uint64(0)
    w, limit = e, j
    e = list_edges(rules, work.blocks, j, n, work.edges, e)
    for text in range(row, last):
        # The edges come in order, so the words of a text are those up to its end.
        limit += np.uint64(stops[text] - starts[text]) + _U1
        while w < e and work.edges[w] < limit:
            w += _U2
        work.ends[text] = w >> _U1
    return last, e, n


@inline
def two_are_short(starts: Ints, stops: Ints, row: np.uint64) -> bool:
    """Whether the text ``row`` and the next one can be folded together."""
    if row + _U1 >= np.uint64(len(starts)):
        return False
    return np.uint64(stops[row] - starts[row] + stops[row + _U1] - starts[row + _U1]) + _U2 <= SHORT_BYTES


@leaf
def list_texts(data: Bytes, starts: Ints, stops: Ints, rules: Rules, work: Work, left: Flags) -> tuple[int, int]:
    """List the edges of the words of the first texts, as many as are looked up together; return texts and bytes.

    ``left[i]`` becomes whether only Python can fold text i.
    """
    # The first block stays free, because the byte before a text is read too.  Texts before ``alone`` are folded one by
    # one.
    j, e, row, alone = _BLOCK, np.uint64(0), np.uint64(0), np.uint64(0)
    while row < np.uint64(len(starts)):
        start, stop = starts[row], stops[row]
        full = e >= 2 * CHUNK_WORDS or np.int64(j) + 2 * (stop - start) >= CHUNK_BYTES
        if row > np.uint64(0) and (full or row == np.uint64(len(work.ends))):
            break
        if row >= alone and two_are_short(starts, stops, row):
            alone, e, n = list_short_texts(data, starts, stops, rules, work, j, e, row)
            if n > np.uint64(0):
                # To the next block that has at least one byte between it and the text.
                j += (n + _BLOCK) & ~(_BLOCK - _U1)
                row = alone
                continue
        e, size = list_words(data, start, stop, rules, work, j, e)
        left[row] = size < 0
        j += (np.uint64(max(size, stop - start)) + _BLOCK) & ~(_BLOCK - _U1)
        work.ends[row] = e >> _U1
        row += _U1
    return np.int64(row), np.int64(j)


@leaf
def tokenize(
    data: Bytes, starts: Ints, stops: Ints, rules: Rules, skip: np.uint64, words: Words, work: Work, output: WordIds
) -> bool:
    """Number the words of every text; return False if the vocabulary must grow first, then call again.

    Words numbered below ``skip`` are dropped.
    """
    ids, bounds, left, state = output
    edges, folded = work.edges, work.blocks.folded
    first = state[0]
    while first < len(starts):
        n_texts, n_bytes = list_texts(data, starts[first:], stops[first:], rules, work, left[first:])
        m = work.ends[n_texts - 1]
        # Every word may be new, so the room is checked before anything is added; this chunk then begins anew.
        if words.sizes[0] + np.int64(m) > len(words.begins) or words.sizes[1] + n_bytes // 8 > len(words.tails):
            state[0], state[1], state[2] = first, np.int64(m), n_bytes // 8
            return False
        hash_words(folded, edges, m, words.slots, words.secret, work.word_keys)
        n_pending = match_words(m, words, work.word_keys, ids, bounds[first])
        look_up(folded, edges, n_pending, words, work.word_keys, ids, bounds[first])
        bound_texts(work.ends[:n_texts], skip, ids, bounds[first:])
        first += n_texts
    return True
