"""Detection of the kind of script of texts from their first bytes."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Bytes, Ints, Uint64s
from fastmetrics.kernels.jit import inline, leaf
from fastmetrics.kernels.text.folding import decode

LATIN, CYRILLIC, OTHER, UNSPACED = 1, 2, 3, 4
"""Classes of letters: Latin, Cyrillic, other scripts, and scripts without spaces between words."""

FOREIGN, ONE_WORD, UNLISTED = 1, 2, 4
"""Bits of a text: most of its letters are not Latin; most belong to scripts without spaces; most are neither Latin nor
Cyrillic, the scripts of the built-in word lists."""

LOOK = 32
"""Number of bytes of a text that are examined."""

_HIGH = np.uint64(0x8080808080808080)


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
    return union & _HIGH != 0


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
