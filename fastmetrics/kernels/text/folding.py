"""Folding of text: each character is kept, replaced or removed, as a convention's table defines.

Folded text has one byte 0x20 for every separator, one after every text, and no byte 0x00.
"""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints
from fastmetrics.kernels.jit import inline, kernel, leaf

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
            entry = codemap[code if code < len(codemap) else 0]
            met |= entry
            j = emit(entry, out, j)
            continue
        out[j] = entry & 0xFF
        j += entry >> 8
        i += 1
        while i + 8 <= stop and data[i] < 0x80:
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
    if n < 1 or n > 3 or data[begin] not in (97, 116):
        return
    a = n == 1 and data[begin] == 97
    an = n == 2 and data[begin] == 97 and data[begin + 1] == 110
    the = n == 3 and data[begin] == 116 and data[begin + 1] == 104 and data[begin + 2] == 101
    if a or an or the:
        for p in range(begin, end):
            data[p] = 0x20
