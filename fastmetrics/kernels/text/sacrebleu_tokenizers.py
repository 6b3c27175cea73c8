"""Tokenisers of machine-translation scores: they split punctuation depending on the adjacent characters."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Bytes, Ids, Ints
from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.text.folding import ALONE, CODE, CONTEXT, RAW, decode, encode

# Flags of a code point in a table, in addition to those of ``words``.
POINT = 1 << 21  # separated unless it is between digits
DIGIT = 1 << 22
DASH = 1 << 23  # separated after a digit
BREAK = 1 << 29  # line end: after a hyphen, Python joins the lines
APART = ALONE | POINT | DASH | BREAK
PLAIN = 0x7F | DIGIT  # the bits of an ASCII character that is copied unchanged

# Handling of the ends of a text.
FRAMED = 1  # as if a space preceded and followed the text
STRIPPED = 2  # leading white space is ignored


@leaf
def put(entry: int, out: Bytes, j: int) -> int:
    """Write the character that ``entry`` names at ``out[j]``; return the next position."""
    if entry & RAW:
        out[j] = entry & 0xFF
        return j + 1
    return encode(entry & CODE, out, j)


@leaf
def digit_follows(data: Bytes, i: int, stop: int, codemap: Ids, frame: int) -> bool:
    """Whether a point before byte ``i`` stays joined to the next character: a digit, or the end of the text."""
    spaced = False
    while i < stop:
        code, i = decode(data, i)
        entry = codemap[code]
        if (entry & ~BREAK) != 0x20:
            return not spaced and (entry & DIGIT) != 0
        if frame & FRAMED:
            return False
        spaced = True
    return not frame & FRAMED


@kernel
def separate(data: Bytes, starts: Ints, stops: Ints, codemap: Ids, frame: int, out: Bytes, bounds: Ints) -> Ids:
    """Like ``folding.fold``: write every text with split punctuation, and a separator after each text.

    A point is split if a non-digit follows it or precedes it; a preceding point that was split for the same reason
    does not count.
    """
    marks = np.zeros(len(starts), np.int32)
    j = bounds[0]
    for row in range(len(starts)):
        i, begin, stop, met, before = starts[row], j, stops[row], 0, 0
        open_before = (frame & FRAMED) != 0
        while i < stop:
            entry = codemap[data[i]]
            if data[i] < 0x80 and (entry & PLAIN) == entry and entry != 0x20:  # fast path for most characters
                out[j] = entry & 0x7F
                open_before = entry < DIGIT
                before = entry
                i += 1
                j += 1
                continue
            code, i = decode(data, i)
            entry = codemap[code]
            met |= entry
            if not entry & APART:
                if entry != 0x20 or j > begin or not frame & STRIPPED:
                    open_before = (entry & DIGIT) == 0
                    j = put(entry, out, j)
            elif entry & BREAK:
                met |= CONTEXT * ((before & DASH) != 0)
                open_before = True
                out[j] = 0x20
                j += 1
            else:
                apart = (entry & ALONE) != 0 or (entry & DASH != 0 and before & DIGIT != 0)
                if entry & POINT:
                    apart = open_before or not digit_follows(data, i, stop, codemap, frame)
                open_before = not (entry & POINT and open_before)
                if apart and j > begin and out[j - 1] != 0x20:
                    out[j] = 0x20
                    j += 1
                j = put(entry, out, j)
                if apart:
                    out[j] = 0x20
                    j += 1
            before = entry
        out[j] = 0x20
        j += 1
        marks[row] = met
        bounds[row + 1] = j
    return marks
