"""Searches in bytes: characters and phrases of a text, the nesting of JSON lines, the fields of TREC files."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints, Uint64s
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.simd.blocks import BLOCK, in_range, trailing_zeros

# Counts over the bytes of texts: characters, and phrases they contain.


_U0, _U1, _BLOCK = (np.uint64(n) for n in (0, 1, BLOCK))


@kernel
def count_characters(data: Bytes, starts: Ints, stops: Ints) -> Ints:
    """Number of Unicode code points of each text."""
    counts = np.zeros(len(starts), np.int64)
    for row in range(len(starts)):
        n = 0
        for byte in data[starts[row] : stops[row]]:
            # All but continuation bytes, 10xxxxxx, begin a character.
            n += (byte & 0xC0) != 0x80
        counts[row] = n
    return counts


@inline
def in_word(byte: int) -> bool:
    """Whether a byte is an ASCII letter, digit or underscore."""
    return 97 <= byte | 32 <= 122 or 48 <= byte <= 57 or byte == 95


@kernel
def have_signs(data: Bytes, starts: Ints, stops: Ints) -> Flags:
    """Whether each text may have a sign (+, #, -, − or –) right behind one or two letters at the end of a word."""
    found = np.zeros(len(starts), np.bool_)
    for row in range(len(starts)):
        start, stop = starts[row], stops[row]
        for i in range(start + 1, stop):
            byte = data[np.uint64(i)]
            # Most bytes are larger than the signs of ASCII, or smaller: spaces.
            if byte <= 45 or byte == 0xE2:
                size = 0
                if byte in (43, 35, 45):
                    size = 1 + (byte == 43 and i + 1 < stop and data[i + 1] == 43)
                elif byte == 0xE2 and i + 2 < stop:
                    dash = (data[i + 1] == 0x88 and data[i + 2] == 0x92) or (
                        data[i + 1] == 0x80 and data[i + 2] == 0x93
                    )
                    size = 3 * dash
                if size > 0 and data[i - 1] == 0xAA:  # of the Kelvin sign, whose small letter is k
                    found[row] = True
                elif size > 0 and 97 <= data[i - 1] | 32 <= 122:
                    letters = 2 if i - 2 >= start and 97 <= data[i - 2] | 32 <= 122 else 1
                    alone = i - letters <= start or not in_word(data[i - letters - 1])
                    if alone and (i + size >= stop or not in_word(data[i + size])):
                        found[row] = True
                        break
    return found


@leaf
def find_phrases(
    data: Bytes, starts: Ints, stops: Ints, begins: Uint64s, pairs: Bytes, phrases: Bytes, bounds: Ints, masks: Uint64s
) -> None:
    """Set in ``masks`` which of up to 64 phrases each text contains, one bit each.

    Row k of ``pairs`` is the first byte of some phrases, the distance to their second byte (0 if they have none), and
    that byte; ``begins[k]`` are their bits.  Up to 64 bytes after the last text are read.
    """
    for row in range(len(starts)):
        p, stop, bits = np.uint64(starts[row]), np.uint64(stops[row]), _U0
        while p < stop:
            # A shift by 64 bits is not defined, so a full block is told apart.
            block = ~_U0 if stop - p >= _BLOCK else (_U1 << (stop - p)) - _U1
            for k in range(np.uint64(len(pairs))):
                # A phrase is compared only where its first two bytes stand, and only until it is found once.
                places = block & in_range(data, p, np.uint64(pairs[k, 0]), _U1)
                places &= in_range(data, p + np.uint64(pairs[k, 1]), np.uint64(pairs[k, 2]), _U1)
                while places != _U0 and begins[k] & ~bits != _U0:
                    at = p + trailing_zeros(places)
                    bits |= phrases_at(data, at, stop, begins[k] & ~bits, phrases, bounds)
                    places &= places - _U1
            p += _BLOCK
        masks[row] = bits


@leaf
def masks_of_texts(ids: Ids, starts: Ints, stops: Ints, word_masks: Uint64s, marked: Flags, masks: Uint64s) -> None:
    """The bits of all words of each text; ``word_masks`` are those of each word, ``marked`` the words that have any."""
    for row in range(len(starts)):
        bits = _U0
        for k in range(np.uint64(starts[row]), np.uint64(stops[row])):
            if marked[np.uint32(ids[k])]:
                bits |= word_masks[np.uint32(ids[k])]
        masks[row] = bits


@leaf
def phrases_at(
    data: Bytes, p: np.uint64, stop: np.uint64, candidates: np.uint64, phrases: Bytes, bounds: Ints
) -> np.uint64:
    """Which of the ``candidates`` stand at byte ``p`` of a text."""
    bits = _U0
    while candidates != _U0:
        phrase = trailing_zeros(candidates)
        begin, end, at = np.uint64(bounds[phrase]), np.uint64(bounds[phrase + _U1]), p
        while begin < end and at < stop and data[at] == phrases[begin]:
            begin += _U1
            at += _U1
        if begin == end:
            bits |= _U1 << phrase
        candidates &= candidates - _U1
    return bits


# Nesting depth of the brackets in JSON lines.


_NEWLINE, _QUOTE, _BACKSLASH = 10, 34, 92
_OPEN_LIST, _OPEN_OBJECT, _CLOSE_LIST, _CLOSE_OBJECT = 91, 123, 93, 125
_WINDOW = 128  # counts fit in one byte, so that the compiler vectorises the loop


@inline
def _opens(window: NDArray[np.uint8]) -> tuple[int, int]:
    """Number of opening brackets, also inside strings, and of line ends, among the ``_WINDOW`` bytes of ``window``."""
    opens, ends = np.uint8(0), np.uint8(0)
    for at in range(_WINDOW):
        # Bit 32 makes ``{`` of ``[``.
        opens = np.uint8(opens + np.uint8((window[at] | np.uint8(32)) == np.uint8(_OPEN_OBJECT)))
        ends = np.uint8(ends + np.uint8(window[at] == np.uint8(_NEWLINE)))
    return int(opens), int(ends)


@kernel
def _first_deep(data: NDArray[np.uint8], start: int, stop: int, most: int) -> int:
    """Position of the first bracket nested deeper than ``most`` in its line, or -1."""
    depth, within, at = 0, False, start
    while at < stop:
        byte = data[at]
        if byte == _NEWLINE:
            depth, within = 0, False
        elif within:
            # The next byte is escaped, even a quote; but a string never goes past its line.
            if byte == _BACKSLASH and at + 1 < stop and data[at + 1] != _NEWLINE:
                at += 1
            elif byte == _QUOTE:
                within = False
        elif byte == _QUOTE:
            within = True
        elif byte in (_OPEN_LIST, _OPEN_OBJECT):
            depth += 1
            if depth > most:
                return at
        elif byte in (_CLOSE_LIST, _CLOSE_OBJECT):
            depth -= 1
        at += 1
    return -1


@kernel
def _line(data: NDArray[np.uint8], start: int, stop: int) -> tuple[int, int]:
    """Start and stop of the lines that contain the bytes."""
    while start > 0 and data[start - 1] != _NEWLINE:
        start -= 1
    while stop < data.size and data[stop - 1] != _NEWLINE:
        stop += 1
    return start, stop


@kernel
def deepest(data: NDArray[np.uint8], most: int) -> int:
    """Position of the first bracket nested deeper than ``most`` in its line, or -1; ``[`` and ``{`` count alike.

    A line is scanned byte by byte only if it has enough opening brackets to be too deep.
    """
    # ``bound`` is no less than the depth here: the opening brackets, in strings too, since a place at or before the
    # line's start, or since lines that were scanned.
    bound, at = 0, 0
    while at < data.size:
        stop = at + _WINDOW
        opens, ends = _opens(data[at:stop]) if stop <= data.size else (_WINDOW, 1)
        bound += opens
        if bound > most:
            start, stop = _line(data, at, min(stop, data.size))
            position = _first_deep(data, start, stop, most)
            if position >= 0:
                return position
            # Every line that touches these bytes has been scanned to its end.
            bound = 0
        elif ends:
            # A line begins here; brackets before it are counted too, which keeps the bound valid.
            bound = opens
        at = stop
    return -1


# Lines of white-space separated fields: the format of TREC runs and judgements.


_SPACE, _TAB, _RETURN, _HASH = 32, 9, 13, 35


@kernel
def is_blank(byte: int) -> bool:
    """Whether a byte is white space inside a line."""
    return byte == _SPACE or (_TAB <= byte <= _RETURN and byte != _NEWLINE)


@kernel
def count_lines(data: NDArray[np.uint8]) -> int:
    """Number of line ends."""
    lines = 0
    for at in range(data.size):
        lines += data[at] == _NEWLINE
    return lines


@kernel
def cut_fields(
    data: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64], lines: NDArray[np.int64]
) -> int:
    """Find start and stop of the first fields of each line, except blank and comment lines; return number of lines.

    ``starts[f, i]`` is the start of field f of line i, -1 for a missing field; ``lines[i]`` is the line's number.
    """
    fields = starts.shape[0]
    row, at = 0, 0
    for number in range(lines.size):
        field, comment = 0, False
        for column in range(fields):
            starts[column, row] = stops[column, row] = -1
        while at < data.size and data[at] != _NEWLINE:
            start = at
            while at < data.size and data[at] != _NEWLINE and not is_blank(data[at]):
                at += 1
            if at > start:
                # Only a line whose first field begins with # is a comment; an id may contain one.
                comment = comment or (field == 0 and data[start] == _HASH)
                if field < fields:
                    starts[field, row], stops[field, row] = start, at
                field += 1
            else:
                at += 1
        at += 1
        if field > 0 and not comment:
            lines[row] = number
            row += 1
    return row


@kernel
def gather(
    data: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64], bounds: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """The concatenated bytes of all spans; ``bounds`` receives the start of each and the end of the last."""
    bounds[0] = 0
    for i in range(starts.size):
        bounds[i + 1] = bounds[i] + stops[i] - starts[i]
    out = np.empty(bounds[starts.size], np.uint8)
    for i in range(starts.size):
        for offset in range(stops[i] - starts[i]):
            out[bounds[i] + offset] = data[starts[i] + offset]
    return out
