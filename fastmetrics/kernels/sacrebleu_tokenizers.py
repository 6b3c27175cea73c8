"""The tokenisers of machine-translation scores: 13a, intl and their like, and the characters and words of chrF."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints
from fastmetrics.kernels.folding import ALONE, CODE, CONTEXT, RAW, decode, encode
from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.simd.blocks import BLOCK, in_range, trailing_zeros
from fastmetrics.kernels.simd.words import WIDENED, widen

# Tokenisers of machine-translation scores: they split punctuation depending on the adjacent characters.


# Flags of a code point in a table, in addition to those of ``folding``.
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
        # The first visible character decides; white space between it and the point splits them anyway.
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
        # Whether a point here would be split for what precedes it: anything but a digit
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
                # Python joins a word that a hyphen breaks at a line end: such a text is left to it.
                met |= CONTEXT * ((before & DASH) != 0)
                open_before = True
                out[j] = 0x20
                j += 1
            else:
                apart = (entry & ALONE) != 0 or (entry & DASH != 0 and before & DIGIT != 0)
                if entry & POINT:
                    apart = open_before or not digit_follows(data, i, stop, codemap, frame)
                # The patterns of the original match two characters at a time, so a point that was just split is used
                # up.
                open_before = not (entry & POINT and open_before)
                # no second separator after another one
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


# Characters and words of chrF from folded text.


_U0, _U1, _BLOCK, _WIDENED, _SPACE, _HIGH = (np.uint64(n) for n in (0, 1, BLOCK, WIDENED, 0x20, 0x80))
_ALL = np.uint64((1 << 64) - 1)


@kernel
def characters(data: Bytes, starts: Ints, stops: Ints, skip: int, out: Ids, bounds: Ints) -> None:
    """Write the code points of every text except ``skip``; ``bounds`` receives the bounds of each text."""
    k = 0
    for row in range(len(starts)):
        i, stop = starts[row], stops[row]
        while i < stop:
            code, i = decode(data, i)
            out[k] = code
            k += code != skip
        bounds[row + 1] = k


@leaf
def visible_block(data: Bytes, p: np.uint64, visible: np.uint64, out: Ids, k: np.uint64) -> np.uint64:
    """Write the ``visible`` ones of the 64 ASCII characters at ``p``; return the end of what is written."""
    # The bits where runs of visible characters begin, and the ones behind their ends
    begins, ends = visible & ~(visible << _U1), ~visible & (visible << _U1)
    while begins != _U0:
        first, last = trailing_zeros(begins), trailing_zeros(ends)  # 64 without an end
        # Sixteen at a time, even if the run is shorter: the next run overwrites the rest.
        widen(data, p + first, out, k)
        at = first + _WIDENED
        while at < last:
            widen(data, p + at, out, k + at - first)
            at += _WIDENED
        k += last - first
        begins &= begins - _U1
        ends &= ends - _U1
    return k


@leaf
def visible_characters(data: Bytes, starts: Ints, stops: Ints, is_space: Flags, out: Ids, bounds: Ints) -> None:
    """Write the code points of every text except white space; ``bounds`` receives the bounds of each text.

    ``out`` has room for ``WIDENED`` more.
    """
    k, size = _U0, np.uint64(len(data))
    for row in range(len(starts)):
        i, stop = np.uint64(starts[row]), np.uint64(stops[row])
        while i < stop:
            end = min(i + _BLOCK, stop)
            # Only blocks of ASCII text whose one kind of white space is the space are fast.
            inside = _ALL >> (_BLOCK - (end - i))
            if i + _BLOCK + _WIDENED <= size and (
                (in_range(data, i, _U0, _SPACE) | in_range(data, i, _HIGH, _HIGH)) & inside == _U0
            ):
                k = visible_block(data, i, inside & ~in_range(data, i, _SPACE, _U1), out, k)
                i += _BLOCK
            while i < end:
                code, after = decode(data, np.int64(i))
                out[k] = code
                k += np.uint64(not is_space[code])
                i = np.uint64(after)
        bounds[row + 1] = k


@kernel
def split_ends(data: Bytes, starts: Ints, stops: Ints, is_punctuation: Flags, out: Bytes, bounds: Ints) -> None:
    """Write every folded text with a punctuation mark at a word's end, or else at its start, split from the word.

    ``is_punctuation`` has one entry per byte.
    """
    j = 0
    for row in range(len(starts)):
        i, stop = starts[row], stops[row]
        while i < stop:
            first = i
            while i < stop and data[i] != 0x20:
                i += 1
            # A mark alone is a word already.
            if i - first > 1:
                last = is_punctuation[data[i - 1]]
                head = is_punctuation[data[first]] and not last
                for k in range(first, i):
                    if last and k == i - 1:
                        out[j] = 0x20
                        j += 1
                    out[j] = data[k]
                    j += 1
                    if head and k == first:
                        out[j] = 0x20
                        j += 1
            elif i > first:
                out[j] = data[first]
                j += 1
            out[j] = 0x20
            j += 1
            i += 1
        out[j] = 0x20
        j += 1
        bounds[row + 1] = j
