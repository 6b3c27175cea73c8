"""Text bytes to word ids: fold the characters, cut at spaces, look each word up.

Folded text has one byte 0x20 for every separator, one after every text, and no byte 0x00.  A word of up to eight
bytes is then its own exact 64-bit key; a longer one is found by a hash and compared word by word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.arrays import Bytes, Flags, Ids, Ints, Uint64s
from fastmetrics.kernels._jit import inline, kernel

# What a fold table says of a code point: the character that replaces it in the low bits, and these marks.
CODE = 0x1FFFFF
DELETE = 1 << 24
RAW = 1 << 25  # the low bits are a byte that UTF-8 never uses, to be written as it is
ALONE = 1 << 26  # a word of its own: set between separators
EDGE = 1 << 27  # kept, but no word character: the text may hold an article next to it
CONTEXT = 1 << 28  # its lower case depends on its neighbours or is longer than one character: Python must do it

# What a byte table says: the byte to write, whether it advances, whether the code point's entry must be read.
KEEP = 1 << 8
SLOW = 1 << 9

_ONES = np.uint64(0x0101010101010101)
_HIGHS = np.uint64(0x8080808080808080)
_SPACES = np.uint64(0x2020202020202020)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_INDEX = np.uint64(sum(i << (61 - 8 * i) for i in range(8)))
_MIX = np.uint64(0x9E3779B97F4A7C15)
_U0, _U1, _U7, _U32, _U61, _U63 = (np.uint64(n) for n in (0, 1, 7, 32, 61, 63))


class Words(NamedTuple):
    """The distinct words seen so far, by number: two open-addressing tables of (key, number + 1), and the bytes."""

    short: Uint64s
    long: Uint64s
    arena: Uint64s
    begins: Ints
    lengths: Ids
    sizes: Ints  # number of words, arena in use, number of long words


@inline
def decode(data: Bytes, i: int) -> tuple[int, int]:
    """The code point at byte ``i`` of valid UTF-8 (lone surrogates allowed), and the next position.

    A byte that UTF-8 never uses, as folded text may hold, comes back as a code point above all others.
    """
    b = np.int64(data[i])
    if b < 0x80:
        return b, i + 1
    if b >= 0xF8:
        return 0x110000 + b, i + 1
    if b < 0xE0:
        return ((b & 0x1F) << 6) | (np.int64(data[i + 1]) & 0x3F), i + 2
    if b < 0xF0:
        return ((b & 0x0F) << 12) | ((np.int64(data[i + 1]) & 0x3F) << 6) | (np.int64(data[i + 2]) & 0x3F), i + 3
    high = ((b & 0x07) << 18) | ((np.int64(data[i + 1]) & 0x3F) << 12)
    return high | ((np.int64(data[i + 2]) & 0x3F) << 6) | (np.int64(data[i + 3]) & 0x3F), i + 4


@inline
def encode(code: int, out: Bytes, j: int) -> int:
    """Write ``code`` as UTF-8 at ``out[j]``; the next position."""
    if code < 0x80:
        out[j] = code
        return j + 1
    if code < 0x800:
        out[j] = 0xC0 | (code >> 6)
        out[j + 1] = 0x80 | (code & 0x3F)
        return j + 2
    if code < 0x10000:
        out[j] = 0xE0 | (code >> 12)
        out[j + 1] = 0x80 | ((code >> 6) & 0x3F)
        out[j + 2] = 0x80 | (code & 0x3F)
        return j + 3
    out[j] = 0xF0 | (code >> 18)
    out[j + 1] = 0x80 | ((code >> 12) & 0x3F)
    out[j + 2] = 0x80 | ((code >> 6) & 0x3F)
    out[j + 3] = 0x80 | (code & 0x3F)
    return j + 4


@inline
def emit(entry: int, out: Bytes, j: int) -> int:
    """Write what a table's ``entry`` says at ``out[j]``; the next position."""
    if entry & DELETE:
        return j
    if entry & RAW:
        out[j] = entry & 0xFF
        return j + 1
    if entry & ALONE:
        out[j] = 0x20
        j = encode(entry & CODE, out, j + 1)
        out[j] = 0x20
        return j + 1
    return encode(entry & CODE, out, j)


@kernel
def fold(data: Bytes, starts: Ints, stops: Ints, bytemap: Ids, codemap: Ids, out: Bytes, bounds: Ints) -> Ids:
    """Write every text folded, a separator after each; ``bounds`` gets their places; the marks met in each text."""
    marks = np.zeros(len(starts), np.int32)
    j = bounds[0]
    for row in range(len(starts)):
        i, stop, met = starts[row], stops[row], 0
        while i < stop:
            entry = bytemap[data[i]]
            if entry & SLOW:
                code, i = decode(data, i)
                entry = codemap[code]
                met |= entry
                j = emit(entry, out, j)
            else:
                out[j] = entry & 0xFF
                j += entry >> 8
                i += 1
        out[j] = 0x20
        j += 1
        marks[row] = met
        bounds[row + 1] = j
    return marks


@kernel
def blank(data: Bytes, bounds: Ints, rows: Ints) -> None:
    """Overwrite the texts ``rows`` with spaces."""
    for row in rows:
        data[bounds[row] : bounds[row + 1]] = 0x20


@kernel
def drop_articles(data: Bytes, bounds: Ints, rows: Ints, is_word: Flags) -> None:
    """Overwrite with spaces every maximal run of word characters that is "a", "an" or "the"."""
    for row in rows:
        i = begin = bounds[row]
        stop = bounds[row + 1]
        while i < stop:
            code, after = decode(data, i)
            if code >= len(is_word) or not is_word[code]:
                blank_article(data, begin, i)
                begin = after
            i = after


@kernel
def blank_article(data: Bytes, begin: int, end: int) -> None:
    """Overwrite ``data[begin:end]`` with spaces if it is an article."""
    n = end - begin
    if n < 1 or n > 3 or data[begin] not in (97, 116):
        return
    a = n == 1 and data[begin] == 97
    an = n == 2 and data[begin] == 97 and data[begin + 1] == 110
    the = n == 3 and data[begin] == 116 and data[begin + 1] == 104 and data[begin + 2] == 101
    if a or an or the:
        data[begin:end] = 32


@inline
def load(words: Uint64s, p: int) -> np.uint64:
    """The eight bytes from byte ``p`` on."""
    i = p >> 3
    shift = np.uint64((p & 7) << 3)
    return (words[i] >> shift) | ((words[i + 1] << _U1) << (_U63 - shift))


@inline
def word_end(words: Uint64s, p: int) -> int:
    """Where the next space at or after byte ``p`` is."""
    while True:
        x = load(words, p) ^ _SPACES
        zero = (x - _ONES) & ~x & _HIGHS
        if zero != _U0:
            lowest = (zero & (~zero + _U1)) >> _U7
            return p + np.int64((lowest * _INDEX) >> _U61)
        p += 8


@inline
def masked(words: Uint64s, p: int, n: int) -> np.uint64:
    """The first ``n`` (1 to 8) bytes from byte ``p`` on, zeros above them."""
    return load(words, p) & (_ALL >> np.uint64(64 - 8 * n))


@inline
def short_home(key: np.uint64, slots: int) -> int:
    """The slot a short word's key belongs in."""
    return np.int64((key * _MIX) >> _U32) & (slots - 1)


@inline
def long_key(words: Uint64s, p: int, n: int) -> np.uint64:
    """A hash of the ``n`` bytes from byte ``p`` on."""
    key = np.uint64(n)
    for k in range(0, n, 8):
        key = (key ^ masked(words, p + k, min(8, n - k))) * _MIX
        key ^= key >> _U32
    return key


@inline
def same_word(arena: Uint64s, at: int, words: Uint64s, p: int, n: int) -> bool:
    """Whether the word kept at ``arena[at:]`` is the ``n`` bytes from byte ``p`` on."""
    same = True
    for k in range(0, n, 8):
        same &= arena[at + (k >> 3)] == masked(words, p + k, min(8, n - k))
    return same


@inline
def trimmed(data: Bytes, first: int, last: int, strip: Flags) -> tuple[int, int]:
    """The ends of ``data[first:last]`` without the bytes in ``strip``."""
    while first < last and strip[data[first]]:
        first += 1
    while first < last and strip[data[last - 1]]:
        last -= 1
    return first, last


@kernel
def add_word(vocabulary: Words, words: Uint64s, begin: int, n: int) -> int:
    """Keep the ``n`` bytes at ``begin`` as a new word; its number, or -1 when there is no room."""
    short, long = vocabulary.short, vocabulary.long
    begins, arena, sizes = vocabulary.begins, vocabulary.arena, vocabulary.sizes
    number, used = sizes[0], sizes[1]
    if number >= len(begins) or used + (n + 7) // 8 > len(arena):
        return -1
    begins[number] = used
    vocabulary.lengths[number] = n
    for k in range(0, n, 8):
        arena[used] = masked(words, begin + k, min(8, n - k))
        used += 1
    sizes[0], sizes[1] = number + 1, used
    if n <= 8:
        key = masked(words, begin, n)
        move(short, short_home(key, len(short) >> 1), key, np.uint64(number))
    else:
        key = long_key(words, begin, n)
        move(long, np.int64(key >> _U1), key, np.uint64(number + 1))
    return number


@kernel
def rehash(old: Words, short: Uint64s, long: Uint64s) -> None:
    """Fill the empty, larger tables with the entries of the old ones."""
    for h in range(0, len(old.short), 2):
        key = old.short[h]
        if key != _U0:
            move(short, short_home(key, len(short) >> 1), key, old.short[h + 1])
    for h in range(0, len(old.long), 2):
        if old.long[h + 1] != _U0:
            move(long, np.int64(old.long[h] >> _U1), old.long[h], old.long[h + 1])


@kernel
def move(table: Uint64s, h: int, key: np.uint64, value: np.uint64) -> None:
    """Put an entry into the first free slot from ``h`` on."""
    slots = len(table) >> 1
    h &= slots - 1
    while table[2 * h] != _U0 or table[2 * h + 1] != _U0:
        h = (h + 1) & (slots - 1)
    table[2 * h], table[2 * h + 1] = key, value


@kernel
def cut(
    words: Uint64s, data: Bytes, bounds: Ints, strip: Flags, skip: int, vocabulary: Words, ids: Ids, state: Ints
) -> bool:
    """Cut folded texts into words and number them; False when the vocabulary must grow first, then call again.

    ``strip`` are the bytes cut off both ends of a word; words numbered below ``skip`` are left out.  ``state`` holds
    the row and the byte to go on from and how many ids are written; ``state[3:]`` gets each row's first id.
    """
    short, long, arena, begins, lengths, _ = vocabulary
    slots, long_slots = len(short) >> 1, len(long) >> 1
    k, p = state[2], state[1]
    for row in range(state[0], len(bounds) - 1):
        end = bounds[row + 1] - 1
        while p < end:
            stop = word_end(words, p)
            first, last = trimmed(data, p, stop, strip)
            n = last - first
            if n > 0:
                number = -1
                if n <= 8:
                    key = masked(words, first, n)
                    h = short_home(key, slots)
                    while short[2 * h] != key and short[2 * h] != _U0:
                        h = (h + 1) & (slots - 1)
                    if short[2 * h] == key:
                        number = np.int64(short[2 * h + 1])
                else:
                    key = long_key(words, first, n)
                    h = np.int64(key >> _U1) & (long_slots - 1)
                    while long[2 * h + 1] != _U0 and number < 0:
                        entry = np.int64(long[2 * h + 1]) - 1
                        if (
                            long[2 * h] == key
                            and lengths[entry] == n
                            and same_word(arena, begins[entry], words, first, n)
                        ):
                            number = entry
                        h = (h + 1) & (long_slots - 1)
                if number < 0:
                    number = add_word(vocabulary, words, first, n)
                    if number < 0:
                        state[0], state[1], state[2] = row, p, k
                        return False
                ids[k] = number
                k += number >= skip
            p = stop + 1
        p = end + 1
        state[4 + row] = k
    state[0], state[2] = len(bounds) - 1, k
    return True
