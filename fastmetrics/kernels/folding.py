"""Characters: folding by a convention's table, validation of UTF-8, and the kind of script of a text."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints, Uint64s
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.simd.blocks import AHEAD, BLOCK, in_range, prefetch, utf8_errors

# Folding of text: each character is kept, replaced or removed, as a convention's table defines.
#
# Folded text has one byte 0x20 for every separator, one after every text, and no byte 0x00.


# An entry of a fold table contains the replacement character in its low bits, and these flags.
CODE = 0x1FFFFF
DELETE = 1 << 24
RAW = 1 << 25  # the low bits are a byte that is invalid in UTF-8, written unchanged
ALONE = 1 << 26  # a separate word: written between separators
EDGE = 1 << 27  # kept, but a word boundary: an article may be next to it
CONTEXT = 1 << 28  # needs Python: its lower case depends on the context or has several characters

# An entry of a byte table contains the output byte, KEEP to advance the output, and SLOW to look up the code point.
KEEP = 1 << 8
SLOW = 1 << 9


@inline
def decode(data: Bytes, i: int) -> tuple[int, int]:
    """The code point at byte ``i`` of valid UTF-8 (lone surrogates allowed), and the next position.

    A byte that is never used in UTF-8 (possible in folded text) is returned as a code point above all others.
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
    """Write ``code`` as UTF-8 at ``out[j]``; return the next position."""
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
    """Write the replacement in a table's ``entry`` at ``out[j]``; return the next position."""
    if entry & DELETE:
        return j
    if entry & ALONE:
        out[j] = 0x20
        j += 1
    if entry & RAW:
        out[j] = entry & 0xFF
        j += 1
    else:
        j = encode(entry & CODE, out, j)
    if entry & ALONE:
        out[j] = 0x20
        j += 1
    return j


@inline
def fold_text(data: Bytes, i: int, stop: int, bytemap: Ids, codemap: Ids, out: Bytes, j: int) -> tuple[int, int]:
    """Fold the text ``data[i:stop]`` to ``out[j:]``; return its end there, and the flags of its characters."""
    met = 0
    while i < stop:
        entry = bytemap[data[i]]
        if entry & SLOW:
            code, i = decode(data, i)
            # Folded text holds U+0000 as an unused byte, which ``decode`` reads as a number beyond the table.
            entry = codemap[code if code < len(codemap) else 0]
            met |= entry
            j = emit(entry, out, j)
            continue
        # ``entry >> 8`` is 1 with KEEP and 0 without: the next byte then overwrites a deleted one.
        out[j] = entry & 0xFF
        j += entry >> 8
        i += 1
        while i + 8 <= stop and data[i] < 0x80:
            # Eight bytes without a test in between.  If any was SLOW, all are done again, one by one.
            before, union = j, 0
            for t in range(8):
                entry = bytemap[data[np.uint64(i + t)]]  # unsigned: Numba omits the test for negative indices
                union |= entry
                out[np.uint64(j)] = entry & 0xFF
                j += entry >> 8
            if union & SLOW:
                j = before
                break
            i += 8
    return j, met


@kernel
def fold(data: Bytes, starts: Ints, stops: Ints, bytemap: Ids, codemap: Ids, out: Bytes, bounds: Ints) -> Ids:
    """Fold every text, with a separator after each; ``bounds`` gets their bounds; return the marks in each text.

    In text that is already folded, the byte for U+0000 is read as U+0000.
    """
    marks = np.zeros(len(starts), np.int32)
    j = bounds[0]
    for row in range(len(starts)):
        j, marks[row] = fold_text(data, starts[row], stops[row], bytemap, codemap, out, j)
        out[j] = 0x20
        j += 1
        bounds[row + 1] = j
    return marks


@kernel
def blank(data: Bytes, bounds: Ints, rows: Ints) -> None:
    """Overwrite the texts ``rows`` with spaces."""
    for row in rows:
        data[bounds[row] : bounds[row + 1]] = 0x20


@kernel
def drop_articles(data: Bytes, bounds: Ints, rows: Ints, is_word: Flags) -> None:
    """Drop the articles of the texts ``rows``."""
    for row in rows:
        drop_articles_of(data, bounds[row], bounds[row + 1], is_word)


@leaf
def drop_articles_of(data: Bytes, begin: int, stop: int, is_word: Flags) -> None:
    """Overwrite with spaces every maximal run of word characters that is "a", "an" or "the"."""
    # A separator ends every text, so that the last word is met too.
    i = begin
    while i < stop:
        code, after = decode(data, i)
        if code >= len(is_word) or not is_word[code]:
            blank_article(data, begin, i)
            begin = after
        i = after


@leaf
def blank_article(data: Bytes, begin: int, end: int) -> None:
    """Overwrite ``data[begin:end]`` with spaces if it is an article."""
    n = end - begin
    # 97 is "a", 116 "t": nearly all words end here.
    if n < 1 or n > 3 or data[begin] not in (97, 116):
        return
    a = n == 1 and data[begin] == 97
    an = n == 2 and data[begin] == 97 and data[begin + 1] == 110
    the = n == 3 and data[begin] == 116 and data[begin + 1] == 104 and data[begin + 2] == 101
    if a or an or the:
        for p in range(begin, end):
            data[p] = 0x20


# Validation of UTF-8: bytes are valid if each fits the three before it, so that blocks are checked side by side.


PADDING = 2 * BLOCK
"""Bytes of an array to work in."""

_U0, _U1, _U3, _BLOCK, _HIGH = (np.uint64(n) for n in (0, 1, 3, BLOCK, 0x80))


@leaf
def is_utf8(data: Bytes, bounds: Any, room: Bytes) -> bool:
    """Whether the texts between each two of ``bounds`` are UTF-8; False also if bytes outside them make it unclear.

    ``room`` has space for the bytes of one block and those around it.
    """
    first, last = np.uint64(bounds[0]), np.uint64(bounds[len(bounds) - 1])
    p = first
    while p < last + _U3:  # what is incomplete shows up to three bytes later
        prefetch(data, p + AHEAD)
        # Blocks at the ends would read bytes of other texts, or none: they are copied between zeros, which are valid.
        if p >= first + _U3 and p + _BLOCK <= last:
            if has_errors(data, p):
                return False
        else:
            for k in range(_U3 + _BLOCK):
                room[k] = data[p + k - _U3] if p + k >= first + _U3 and p + k < last + _U3 else 0
            if has_errors(room, _U3):
                return False
        p += _BLOCK
    for row in range(np.uint64(len(bounds) - 1)):
        # Together the texts may be valid although a character goes over from one to the next.
        begin = np.uint64(bounds[row])
        if begin < last and data[begin] & 0xC0 == 0x80:
            return False
    return True


@leaf
def has_errors(data: Bytes, p: np.uint64) -> bool:
    """Whether the 64 bytes at ``p`` cannot be UTF-8; ASCII after ASCII is."""
    if in_range(data, p - _U3, _HIGH, _HIGH) == _U0 and in_range(data, p, _HIGH, _HIGH) == _U0:
        return False
    return utf8_errors(data, p) != _U0


# Detection of the kind of script of texts from their first bytes.


LATIN, CYRILLIC, OTHER, UNSPACED = 1, 2, 3, 4
"""Classes of letters: Latin, Cyrillic, other scripts, and scripts without spaces between words."""

FOREIGN, ONE_WORD, UNLISTED = 1, 2, 4
"""Bits of a text: most of its letters are not Latin; most belong to scripts without spaces; most are neither Latin nor
Cyrillic, the scripts of the built-in word lists."""

LOOK = 32
"""Number of bytes of a text that are examined."""

_HIGH_OF_SCRIPTS = np.uint64(0x8080808080808080)


@leaf
def find_scripts(data: Bytes, words: Uint64s, starts: Ints, stops: Ints, classes: Bytes, bits: Bytes) -> bool:
    """Set the bits of each text; return whether any is set.

    ``words`` is ``data`` as 64-bit words without the last few bytes; ``classes`` has one entry per code point, 0 for
    a character that is not a letter.
    """
    some, last = False, len(words) - LOOK // 8 - 1
    for row in range(len(starts)):
        place = starts[row] >> 3
        # The words overlap neighbouring texts by a few bytes; excluding these bytes would cost more.
        if place > last or _beyond_ascii(words, np.uint64(place)):
            bits[row] = _script_of(data, starts[row], min(stops[row], starts[row] + LOOK), classes)
            some |= bits[row] != 0
    return some


@inline
def _beyond_ascii(words: Uint64s, place: np.uint64) -> bool:
    """Whether any of the 64-bit words that hold the ``LOOK`` bytes has a byte that is not ASCII."""
    union = np.uint64(0)
    for k in range(LOOK // 8 + 1):
        union |= words[place + np.uint64(k)]
    return union & _HIGH_OF_SCRIPTS != 0


@leaf
def _script_of(data: Bytes, start: int, stop: int, classes: Bytes) -> int:
    """The bits of the text ``data[start:stop]``, from the letters that begin in it."""
    letters, foreign, unspaced, unlisted, i = 0, 0, 0, 0, start
    while i < stop:
        code, i = decode(data, i)
        kind = classes[code]
        letters += kind > 0
        foreign += kind > LATIN
        unspaced += kind == UNSPACED
        unlisted += kind > CYRILLIC
    bits = (2 * foreign > letters) * FOREIGN + (2 * unspaced > letters) * ONE_WORD
    return bits + (2 * unlisted > letters) * UNLISTED


@kernel
def hold_characters(data: Bytes, starts: Ints, stops: Ints, flags: Flags) -> Flags:
    """Whether each text holds a character with a flag, which none of ASCII has."""
    found = np.zeros(len(starts), np.bool_)
    for row in range(len(starts)):
        high = np.uint8(0)
        for k in range(np.uint64(starts[row]), np.uint64(stops[row])):
            high |= data[k]
        i = starts[row] if high >= 128 else stops[row]
        while i < stops[row] and not found[row]:
            code, i = decode(data, i)
            found[row] = flags[code]
    return found
