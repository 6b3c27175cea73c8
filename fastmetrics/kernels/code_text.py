"""Code as its tokens: what is left of a program in SQL, Python or a language like C without layout and comments."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Bytes, Floats, Ints
from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.rankings import same_bytes

SQL, PYTHON, C = range(3)
"""The languages: SQL's words have no case, Python's lines and their indentation count, C has ``//`` and ``/* */``."""

_LEVELS = 100
"""Indentation is told apart up to so many levels."""
_GAP, _LINE = 0, 1
"""What is written between tokens, and at the beginning of a line of Python, with its level behind it."""


@leaf
def is_part(byte: int) -> bool:
    """Whether a byte is part of a name or a number."""
    return 48 <= byte <= 57 or 65 <= (byte & 0xDF) <= 90 or byte in (95, 36) or byte >= 128


@leaf
def comment_end(data: Bytes, i: int, stop: int, language: int) -> int:
    """The place behind the comment that begins at ``i``, or at its line break; ``i`` if none does."""
    two = i + 1 < stop
    if language != PYTHON and two and data[i] == 47 and data[i + 1] == 42:
        i += 2
        while i + 1 < stop and not (data[i] == 42 and data[i + 1] == 47):
            i += 1
        return min(i + 2, stop)
    sign = 45 if language == SQL else 47
    if data[i] == 35 if language == PYTHON else two and data[i] == sign and data[i + 1] == sign:
        while i < stop and data[i] != 10:
            i += 1
    return i


@leaf
def quoted_end(data: Bytes, i: int, stop: int, language: int) -> int:
    """The place behind the literal that begins with the quote at ``i``; it ends with the text if nothing closes it."""
    quote, long = data[i], False
    i += 1
    if language == PYTHON and i + 1 < stop and data[i] == quote and data[i + 1] == quote:
        i += 2
        long = True
    while i < stop:
        if data[i] == 92 and language != SQL:
            i += 2
        elif data[i] == quote and not long:
            return i + 1
        elif data[i] == quote and i + 2 < stop and data[i + 1] == quote and data[i + 2] == quote:
            return i + 3
        elif data[i] == quote and i + 2 >= stop:
            return stop
        else:
            i += 1
    return stop


@leaf
def level_of(levels: Ints, top: int, width: int) -> int:
    """The level of a line that begins at ``width``, after lines whose levels begin at ``levels[:top + 1]``."""
    while top > 0 and levels[top] > width:
        top -= 1
    if levels[top] < width and top + 1 < len(levels):
        top += 1
        levels[top] = width
    return top


@leaf
def normal_code(data: Bytes, start: int, stop: int, language: int, levels: Ints, out: Bytes) -> int:
    """Write the tokens of a text to ``out``, and return where they end."""
    i, n, top, depth = start, 0, 0, 0
    levels[0] = 0
    fresh = language == PYTHON  # whether a line begins
    width = 0
    while i < stop:
        byte = data[i]
        if byte in (32, 9, 11, 12, 13):
            width = width + 1 if byte != 9 else (width // 8 + 1) * 8
            i += 1
            continue
        if byte == 10:
            fresh = language == PYTHON and depth == 0
            width = 0
            i += 1
            continue
        if language == PYTHON and byte == 92 and i + 1 < stop and data[i + 1] == 10:  # the line goes on
            i += 2
            continue
        end = comment_end(data, i, stop, language)
        if end > i:
            i = end
            continue
        if fresh:
            top = level_of(levels, top, width)
            out[n], out[n + 1] = _LINE, top
            n += 2
            fresh = False
        end = i + 1
        if byte in (34, 39, 96):
            end = min(quoted_end(data, i, stop, language), stop)
        elif is_part(byte):
            while end < stop and is_part(data[end]):
                end += 1
        elif byte in (40, 91, 123):
            depth += 1
        elif byte in (41, 93, 125):
            depth = max(depth - 1, 0)
        small = language == SQL and is_part(byte)
        for k in range(i, end):
            out[n] = data[k] | 32 if small and 65 <= data[k] <= 90 else data[k]
            n += 1
        out[n] = _GAP
        n += 1
        i = end
    while language == SQL and n >= 2 and out[n - 2] == 59 and (n == 2 or out[n - 3] == _GAP):
        n -= 2  # a semicolon at the end
    return n


@kernel
def same_code(
    a: Bytes, a_starts: Ints, a_stops: Ints, b: Bytes, b_starts: Ints, b_stops: Ints, language: int
) -> Floats:
    """Per pair of texts: 1 if their tokens are equal, else 0."""
    most = 0
    for row in range(len(a_starts)):
        most = max(most, a_stops[row] - a_starts[row], b_stops[row] - b_starts[row])
    ours, theirs = np.empty(4 * most + 4, np.uint8), np.empty(4 * most + 4, np.uint8)
    levels = np.zeros(_LEVELS, np.int64)
    equal = np.empty(len(a_starts), np.float64)
    for row in range(len(a_starts)):
        n = normal_code(a, a_starts[row], a_stops[row], language, levels, ours)
        m = normal_code(b, b_starts[row], b_stops[row], language, levels, theirs)
        equal[row] = n == m and same_bytes(ours, 0, theirs, 0, n)
    return equal
