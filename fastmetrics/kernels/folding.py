"""Characters: folding by a convention's table, validation of UTF-8, and the kind of script of a text."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastmetrics.base.arrays import (
    ANGLE,
    BRACE,
    BRACKET,
    HEADING,
    HIGH,
    PIPE,
    SHORT,
    SHORT_BYTES,
    Bytes,
    Flags,
    Ids,
    Ints,
    Uint64s,
)
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.simd.blocks import AHEAD, BLOCK, beyond_or_marks, eight, in_range, prefetch, utf8_errors

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


# Validation of UTF-8, and the signs of texts: bytes are valid if each fits the three before it, so that blocks are
# checked side by side.  Every text passes here once, so what notes must know of it is seen here.


PADDING = 2 * BLOCK
"""Bytes of an array to work in."""

WRONG = 128
"""In place of the signs of a block: it is not UTF-8."""

_U0, _U1, _U3, _U4, _U6, _U7, _U8, _U16, _U24, _U32, _U61 = (
    np.uint64(n) for n in (0, 1, 3, 4, 6, 7, 8, 16, 24, 32, 61)
)
_BLOCK, _BEYOND, _BYTE, _ALL = (np.uint64(n) for n in (BLOCK, 0x80, 0xFF, (1 << 64) - 1))
_LESS, _BAR, _SHORT_BYTES = np.uint64(ord("<")), np.uint64(ord("|")), np.uint64(SHORT_BYTES)
_NEAR = np.uint64(64 * BLOCK)
"""Bytes of the texts whose beginnings are looked at together: they are near in memory as long as they are few."""
_BEGINS = np.zeros(256, np.uint8)
"""What the first byte of a text says: ``BRACKET``, ``BRACE``, or ``HEADING`` if a thought may begin behind it."""
_BEGINS[list(b"\t\n\x0c\r #*_[\xe2")] = HEADING
_BEGINS[ord("[")] |= BRACKET
_BEGINS[ord("{")] = BRACE
_HEADS = [word.encode().ljust(10, b"\0") for word in ("[think", "[thought", "[reasoning", "◁think", "analysis")]
_HEADS += [word.ljust(10, b"\0") for word in (b"thinking", b"thought ", b"reasoning ")]
_HEADINGS = np.frombuffer(b"".join(_HEADS), np.uint8).reshape(-1, 10)
_HERE = np.frombuffer(b"here", np.uint8)
_ANAL, _THIN, _THOU, _REAS, _HERE_IS = (
    np.uint32(int.from_bytes(word, "little")) for word in (b"anal", b"thin", b"thou", b"reas", b"here")
)
_SMALL = np.uint32(0x20202020)


def blocks_of(size: int) -> int:
    """The blocks of texts of so many bytes together, with those in which an incomplete character would show."""
    return (size + 3) // BLOCK + 1 + 8  # eight are read at a time


@leaf
def see_texts(data: Bytes, bounds: Any, room: Bytes, blocks: Bytes, signs: Bytes) -> bool:
    """Whether the texts between each two of ``bounds`` are UTF-8; False also if bytes outside them make it unclear.

    ``signs`` gets those of each text, which may be of a neighbour in its first or last block.  ``room`` has space for
    the bytes of one block and those around it, ``blocks`` for a number per block.
    """
    first, last = np.uint64(bounds[0]), np.uint64(bounds[len(bounds) - 1])
    # Blocks at the ends would read bytes of other texts, or none: they are copied between zeros, which are valid.
    p, union, before, row = first + _BLOCK, see_end(data, first, last, first, room, blocks), _U1, _U0
    while p + _BLOCK <= last and union & WRONG == 0:
        p, union, before = see_blocks(data, first, p, min(p + _NEAR, last), blocks, union, before)
        row, union = see_beginnings(data, bounds, row, p, blocks, union, signs)
    if union & WRONG:
        return False
    while p < last + _U3:  # what is incomplete shows up to three bytes later
        union |= see_end(data, first, last, p, room, blocks)
        p += _BLOCK
    row, union = see_beginnings(data, bounds, row, p, blocks, union, signs)
    return union & WRONG == 0


@leaf
def see_blocks(
    data: Bytes, first: np.uint64, p: np.uint64, stop: np.uint64, blocks: Bytes, union: np.uint8, before: np.uint64
) -> tuple[np.uint64, np.uint8, np.uint64]:
    """The signs of whole blocks from ``p`` on; return the byte behind them, the signs of all, and as ``see_block``."""
    block = (p - first) >> _U6
    while p + _BLOCK <= stop:
        prefetch(data, p + AHEAD)
        signs, before = see_block(data, p, before)
        blocks[block] = signs
        union |= signs
        p += _BLOCK
        block += _U1
    return p, union, before


@leaf
def see_end(data: Bytes, first: np.uint64, last: np.uint64, p: np.uint64, room: Bytes, blocks: Bytes) -> np.uint8:
    """The signs of a block in which texts begin or end."""
    for k in range(_U3 + _BLOCK):
        room[k] = data[p + k - _U3] if p + k >= first + _U3 and p + k < last + _U3 else 0
    signs, _ = see_block(room, _U3, _ALL)
    blocks[(p - first) >> _U6] = signs
    return signs


@inline
def see_block(data: Bytes, p: np.uint64, before: np.uint64) -> tuple[np.uint8, np.uint64]:
    """The signs of the 64 bytes at ``p``, or ``WRONG`` if they cannot be UTF-8, and whether the next may go on.

    ``before`` is the latter of the block before: ASCII after ASCII is UTF-8.
    """
    if (beyond_or_marks(data, p) | before) == _U0:
        return np.uint8(0), _U0
    high = in_range(data, p, _BEYOND, _BEYOND)
    if (high | before) != _U0 and utf8_errors(data, p) != _U0:
        return np.uint8(WRONG), _U0
    angles, bars = in_range(data, p, _LESS, _U1), in_range(data, p, _BAR, _U1)
    return np.uint8((high != _U0) * HIGH | (angles != _U0) * ANGLE | (bars != _U0) * PIPE), high >> _U61


@leaf
def see_beginnings(
    data: Bytes, bounds: Any, row: np.uint64, p: np.uint64, blocks: Bytes, union: np.uint8, signs: Bytes
) -> tuple[np.uint64, np.uint8]:
    """The signs of the texts from ``row`` on that end before ``p``; return the next one, and the signs of all.

    Together texts may be valid although a character goes over from one to the next: that is ``WRONG`` too.
    """
    first, last, wrong = np.uint64(bounds[0]), np.uint64(len(bounds) - 1), union
    while row < last and np.uint64(bounds[row + _U1]) <= p:
        begin, stop = np.uint64(bounds[row]), np.uint64(bounds[row + _U1])
        found = np.uint8(0)
        if begin < stop:
            wrong |= np.uint8((data[begin] & 0xC0 == 0x80) * WRONG)
            found = see_beginning(data, begin, stop)
            if union:
                found |= signs_between(blocks, (begin - first) >> _U6, (stop - first - _U1) >> _U6)
                found |= np.uint8((stop - begin <= _SHORT_BYTES) * (found & HIGH) * SHORT)
        signs[row] = found
        row += _U1
    return row, wrong


@inline
def signs_between(blocks: Bytes, k: np.uint64, last: np.uint64) -> np.uint8:
    """The signs of the blocks from ``k`` to ``last``, eight at a time."""
    together = _U0
    while k + _U7 < last:
        together |= eight(blocks, k)
        k += _U8
    together |= eight(blocks, k) << ((_U7 - (last - k)) << _U3)
    together |= together >> _U32
    together |= together >> _U16
    return np.uint8((together | together >> _U8) & _BYTE)


@inline
def see_beginning(data: Bytes, begin: np.uint64, stop: np.uint64) -> np.uint8:
    """The signs of the first bytes of a text."""
    signs, heads = _BEGINS[data[begin]], True
    if begin + _U8 <= np.uint64(len(data)):
        four = np.uint32(eight(data, begin)) | _SMALL  # letters as small ones
        heads = (four == _ANAL) | (four == _THIN) | (four == _THOU) | (four == _REAS) | (four == _HERE_IS)
    if heads | (signs & HEADING != 0):
        signs |= np.uint8(HEADING)
        if not heads_thought(data, begin, stop):
            signs ^= np.uint8(HEADING)
    return signs


@leaf
def heads_thought(data: Bytes, p: np.uint64, stop: np.uint64) -> bool:
    """Whether a text begins as the heading of a thought, or its mark, does, behind white space and marks of Markdown.

    Headings may begin with "Here's my", "Here is the" and the like.
    """
    while p < stop and (data[p] <= 0x20 or data[p] in (0x23, 0x2A, 0x5F)):
        p += _U1
    if begins_with(data, p, stop, _HERE):
        # Behind "here's a" or "here is my", the third or the fourth word is that of the others.
        spaces = 3 if p + _U4 < stop and data[p + _U4] == 0x20 else 2
        while p < stop and spaces > 0:
            spaces -= data[p] == 0x20
            p += _U1
        return p < stop and (data[p] | 0x20 in (0x74, 0x72))
    found = False
    for k in range(np.uint64(len(_HEADINGS))):
        found |= begins_with(data, p, stop, _HEADINGS[k])
    return found


@leaf
def begins_with(data: Bytes, p: np.uint64, stop: np.uint64, word: Bytes) -> bool:
    """Whether a text has a word at ``p``, in small letters or capitals; the word ends before its first zero byte."""
    k = _U0
    while k < np.uint64(len(word)) and word[k] != 0:
        if p + k >= stop or (data[p + k] | 0x20 if 0x41 <= data[p + k] <= 0x5A else data[p + k]) != word[k]:
            return False
        k += _U1
    return True


# Detection of the kind of script of texts from their first bytes.


LATIN, CYRILLIC, OTHER, UNSPACED = 1, 2, 3, 4
"""Classes of letters: Latin, Cyrillic, other scripts, and scripts without spaces between words."""

FOREIGN, ONE_WORD, UNLISTED = 1, 2, 4
"""Bits of a text: most of its letters are not Latin; most belong to scripts without spaces; most are neither Latin nor
Cyrillic, the scripts of the built-in word lists."""

LOOK = 32
"""Number of bytes of a text that are examined."""

_COUNTED = np.array([0, 0x01, 0x0101, 0x01000101, 0x01010101], np.uint64)
"""What a letter of each class adds to four sums of a byte: of letters, and for each of the bits above."""

_HIGH_OF_SCRIPTS = np.uint64(0x8080808080808080)


@leaf
def find_scripts(
    data: Bytes, words: Uint64s, starts: Ints, stops: Ints, signs: Bytes, classes: Bytes, bits: Bytes
) -> bool:
    """Set the bits of each text; return whether any is set.

    ``words`` is ``data`` as 64-bit words without the last few bytes; ``classes`` has one entry per code point, 0 for
    a character that is not a letter.
    """
    some, last = False, len(words) - LOOK // 8 - 1
    for row in range(len(starts)):
        ahead = min(row + 16, len(starts) - 1)
        if signs[ahead] & HIGH:
            prefetch(data, np.uint64(starts[ahead]))
        if not signs[row] & HIGH:
            continue
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
    sums, i = _U0, start
    while i < stop:
        code, i = decode(data, i)
        sums += _COUNTED[classes[code]]
    letters, foreign, unspaced, unlisted = sums & _BYTE, sums >> _U8 & _BYTE, sums >> _U16 & _BYTE, sums >> _U24 & _BYTE
    bits = (foreign + foreign > letters) * FOREIGN + (unspaced + unspaced > letters) * ONE_WORD
    return bits + (unlisted + unlisted > letters) * UNLISTED


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
