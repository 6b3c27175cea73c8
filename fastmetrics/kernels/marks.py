"""Texts cut into words that know their place in the bytes and what stands between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.arrays import Bytes, Flags, Ids, Ints
from fastmetrics.kernels._jit import inline, kernel
from fastmetrics.kernels.words import decode

# Classes of code points; the first eight are also the kinds of a gap of one character.
OTHER, SPACE, COMMA, DOT, HYPHEN, SLASH, COLON, APOSTROPHE, PERCENT, QUESTION, END, CLAUSE, OPEN, CLOSE, LINE = range(
    15
)
CURRENCY = 16  # and the number of the currency
WORD, DIGIT = 24, 25

# What a gap says besides its kind, which is in the low four bits.
KIND = 15
HAS_PERCENT, ENDED, DOTTED, PARTED, ASKED, OPENED, CLOSED, NEW_LINE, ITEM, GLUED = (1 << k for k in range(4, 14))
"""A percent sign, the end of a sentence, a full stop, the end of a clause, a question mark; a bracket that opens last
or closes first; a line end; a first character as after the number of a list item; a currency sign that comes first."""
MONEY = 14  # the bits from here on are the currency

_SAYS = np.zeros(32, np.int32)
_SAYS[[PERCENT, DOT, QUESTION, END, LINE]] = HAS_PERCENT, DOTTED, ENDED | ASKED, ENDED, NEW_LINE
_SAYS[[COMMA, COLON, CLAUSE, OPEN, CLOSE]] = PARTED


class Marks(NamedTuple):
    """Words: their bytes, the gaps before and after each, whether they begin with a digit; those of text i are
    ``bounds[i]:bounds[i + 1]``."""

    starts: Ints
    stops: Ints
    before: Ids
    after: Ids
    digit: Flags
    bounds: Ints


@inline
def widened(gap: int, code: int, kind: int, length: int) -> int:
    """A gap with one more character ``code`` of class ``kind``, its place being ``length``."""
    gap = (gap & ~OPENED) | _SAYS[kind]
    if length == 0:
        gap = (gap & ~KIND) | (kind if kind < PERCENT else OTHER)
        if kind >= CURRENCY:
            gap |= GLUED
        elif kind == CLOSE:
            gap |= CLOSED
        elif code in (0x29, 0x2E):
            gap |= ITEM
    else:
        gap &= ~KIND
    if kind == OPEN:
        gap |= OPENED
    if kind >= CURRENCY:
        gap = (gap & ((1 << MONEY) - 1)) | ((kind - CURRENCY) << MONEY)
    return gap


@kernel
def scan(data: Bytes, starts: Ints, stops: Ints, classes: Bytes, marks: Marks) -> int:
    """Find the words of every text; how many there are."""
    w_starts, w_stops, before, gaps_after, digit, bounds = marks
    n = 0
    for row in range(len(starts)):
        i, stop, gap, length = starts[row], stops[row], NEW_LINE, 1
        first = n
        while i < stop:
            code, after = decode(data, i)
            kind = np.int64(classes[code])  # wide enough to be shifted without Numba too
            if kind >= WORD:
                w_starts[n], before[n], digit[n] = i, gap, kind == DIGIT
                if n > first:
                    gaps_after[n - 1] = gap
                i = after
                while i < stop:
                    if data[i] < 128:
                        if classes[data[i]] < WORD:
                            break
                        i += 1
                    else:
                        code, after = decode(data, i)
                        if classes[code] < WORD:
                            break
                        i = after
                w_stops[n] = i
                n += 1
                gap = length = 0
                if i + 1 < stop and data[i] == 32 and data[i + 1] < 128 and classes[data[i + 1]] >= WORD:
                    gap = length = SPACE  # the common gap, told without a look at its classes
                    i += 1
            else:
                gap = widened(gap, code, kind, length)
                length += 1
                i = after
        if n > first:
            gaps_after[n - 1] = (gap & ~(KIND | ITEM)) | NEW_LINE
        bounds[row + 1] = n
    return n
