"""Splitting of texts into sentences, paragraphs and statements, as positions."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Bytes, Ints, Uint64s
from fastmetrics.kernels.jit import inline, leaf
from fastmetrics.kernels.text import folding as words
from fastmetrics.kernels.text.blocks.block_code import BLOCK
from fastmetrics.kernels.text.blocks.byte_blocks import trailing_zeros
from fastmetrics.kernels.text.word_boundaries import any_of, inside

_BLOCK = np.uint64(BLOCK)

# Classes of code points.
OTHER, SPACE, BREAK, HALF, STOP, CLOSER, LOWER, UPPER, DIGIT, OPEN, LETTER = range(11)
"""BREAK ends a piece, as do two HALFs (line ends) in one run of white space; STOP is a full stop, a possible end;
CLOSER can follow an end and belongs to the piece; OPEN begins a citation mark."""


@leaf
def character(data: Bytes, i: int) -> tuple[int, int]:
    """``decode`` as a call instead of inlined code, which would take seconds to compile in these kernels."""
    return words.decode(data, i)


@leaf
def split(data: Bytes, starts: Ints, stops: Ints, marks: Bytes, classes: Bytes, pieces: Ints, groups: Ints) -> int:
    """Split at every BREAK, and at white space with two HALFs; return the number of stripped, non-empty pieces.

    ``marks`` are the first bytes of the BREAKs and HALFs, as ranges for ``any_of``; ``data`` has a block or more.
    ``pieces`` gets a start and a stop for each piece, ``groups`` the number of pieces before each text.
    """
    n = 0
    for row in range(len(starts)):
        first, stop = starts[row], stops[row]
        p, end = np.uint64(first), np.uint64(stop)
        while p < end:
            at = min(p, np.uint64(len(data)) - _BLOCK)  # the last block of the data begins before the bytes to look at
            bits = (any_of(marks, data, at) >> (p - at)) & inside(end, p)
            while bits != np.uint64(0):
                i = np.int64(p + trailing_zeros(bits))
                bits &= bits - np.uint64(1)
                after = past_end(data, i, stop, classes)
                if after > 0:
                    n = put_stripped(data, classes, pieces, n, first, i)
                    first = after
            p += _BLOCK
        n = put_stripped(data, classes, pieces, n, first, stop)
        groups[row + 1] = n
    return n


@inline
def past_end(data: Bytes, i: int, stop: int, classes: Bytes) -> int:
    """The byte after a BREAK at ``i``, or after a HALF with another one in the white space after it; 0 for others."""
    kind, after = kind_at(data, i, classes)
    if kind == HALF:
        k = after
        kind = SPACE
        while k < stop and kind == SPACE:
            kind, k = kind_at(data, k, classes)
        return after if kind == HALF else 0
    return after if kind == BREAK else 0


@inline
def kind_at(data: Bytes, i: int, classes: Bytes) -> tuple[int, int]:
    """The class of the character at byte ``i``, and the byte after it."""
    code, after = np.int64(data[i]), i + 1
    if code > 127:
        code, after = character(data, i)
    return np.int64(classes[code]), after


@inline
def put_stripped(data: Bytes, classes: Bytes, pieces: Ints, n: int, first: int, last: int) -> int:
    """Add ``first:last`` without the white space at both ends to ``pieces``, as ``put`` does."""
    while first < last:
        kind, after = kind_at(data, first, classes)
        if kind not in (SPACE, HALF):
            break
        first = after
    while first < last:
        begin = last - 1
        while data[begin] & 0xC0 == 0x80:
            begin -= 1
        kind, _ = kind_at(data, begin, classes)
        if kind not in (SPACE, HALF):
            break
        last = begin
    return put(pieces, n, first if first < last else -1, last)


@leaf
def put(pieces: Ints, n: int, first: int, last: int) -> int:
    """Add ``first:last`` to the ``n`` in ``pieces``, two numbers each, unless it is empty; return their number."""
    if first >= 0:
        pieces[2 * n] = first
        pieces[2 * n + 1] = last
        n += 1
    return n


@leaf
def split_statements(
    data: Bytes, starts: Ints, stops: Ints, classes: Bytes, abbreviations: Uint64s, pieces: Ints, groups: Ints
) -> int:
    """Split into sentences with the citation marks after them; see ``text.segments.statements`` for the rules.

    ``abbreviations`` are sorted keys of known ones; ``pieces`` get the start and the end of each sentence.
    """
    n = 0
    for row in range(len(starts)):
        i, first, last, stop = starts[row], -1, -1, stops[row]
        while i < stop:
            code, after = character(data, i)
            kind = classes[code]
            if kind == HALF and new_line_cuts(data, after, stop, classes):
                n = put(pieces, n, first, last)
                first = -1
            elif kind in (BREAK, STOP):
                after = past_marks(data, after, stop, classes)
                ends = kind == BREAK or after == stop
                if not ends:
                    ends = stop_ends(data, first, i, after, stop, classes, abbreviations)
                if first >= 0:
                    last = after
                if ends:
                    n = put(pieces, n, first, last)
                    first = -1
            elif kind not in (SPACE, HALF):
                first = i if first < 0 else first
                last = after
            i = after
        n = put(pieces, n, first, last)
        groups[row + 1] = n
    return n


@leaf
def past_marks(data: Bytes, i: int, stop: int, classes: Bytes) -> int:
    """The position after further stops, closing quotes and brackets, and citation marks like `` [1]`` or ``[2, 3]``.

    A quote after white space opens the next sentence.
    """
    end = i
    while i < stop:
        code, after = character(data, i)
        kind = classes[code]
        if kind in (STOP, BREAK) or (kind == CLOSER and i == end):
            i = end = after
        elif kind == SPACE:
            i = after
        elif kind == OPEN:
            digits = 0
            i = after
            while i < stop and (48 <= data[i] <= 57 or ((data[i] == 44 or data[i] == 32) and digits > 0)):
                digits += 1
                i += 1
            if digits == 0 or i >= stop or data[i] != 93:
                return end
            i += 1
            end = i
        else:
            return end
    return end


@leaf
def new_line_cuts(data: Bytes, i: int, stop: int, classes: Bytes) -> bool:
    """Whether a line end splits: a blank line or the mark of a list item follows."""
    while i < stop:
        code, after = character(data, i)
        kind = classes[code]
        if kind == HALF:
            return True
        if kind != SPACE:
            break
        i = after
    if i >= stop:
        return True
    if data[i] == 45 or data[i] == 42 or code == 0x2022:
        return after < stop and data[after] == 32
    digits = 0
    while i < stop and 48 <= data[i] <= 57:
        digits += 1
        i += 1
    return 0 < digits < 4 and i + 1 < stop and (data[i] == 46 or data[i] == 41) and data[i + 1] == 32


@leaf
def stop_ends(data: Bytes, first: int, i: int, after: int, stop: int, classes: Bytes, abbreviations: Uint64s) -> bool:
    """Whether the full stop at ``i``, with the characters attached to it up to ``after``, ends a sentence.

    ``abbreviations`` are sorted keys of known ones.
    """
    code, j = character(data, after)
    kind = classes[code]
    if kind not in (SPACE, HALF):
        return False
    while j < stop and (kind in (SPACE, HALF)):
        code, j = character(data, j)
        kind = classes[code]
    if kind == LOWER:
        return False
    if data[i] != 46 or first < 0:
        return True
    begin, letters, digits, key = i, 0, 0, np.uint64(0)
    while begin > first and letters < 9:
        back = begin - 1
        while back > first and (data[back] & 0xC0) == 0x80:
            back -= 1
        code, _ = character(data, back)
        kind = classes[code]
        if kind not in (LOWER, UPPER, DIGIT, LETTER):
            break
        letters += 1
        digits += kind == DIGIT
        begin = back
    if digits == letters:
        return digits == 0 or begin > first
    if letters == 1:
        return classes[character(data, begin)[0]] != UPPER
    if i - begin > 8:
        return True
    for k in range(begin, i):
        key = (key << np.uint64(8)) | np.uint64(data[k])
    is_abbreviation = False
    for abbreviation in abbreviations:
        is_abbreviation |= abbreviation == key
    return not is_abbreviation
