"""Words of a text with their positions and the gaps between them, and their stems."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints
from fastmetrics.kernels.folding import decode
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.simd.blocks import BLOCK, in_range
from fastmetrics.kernels.simd.words import PLACES, list_bits

# Splitting of texts into words with their byte positions and the gaps between them.
#
# The word w of a text is in its bytes ``edges[2 * w]`` to ``edges[2 * w + 1]``; after the last one is the text's
# length.


# Classes of code points; the first eight are also the kinds of gaps of one character.
(
    OTHER,
    SPACE,
    COMMA,
    DOT,
    HYPHEN,
    SLASH,
    COLON,
    APOSTROPHE,
    PERCENT,
    QUESTION,
    END,
    CLAUSE,
    OPEN,
    CLOSE,
    LINE,
    OPERATOR,
) = range(16)
CURRENCY = 16  # plus the number of the currency
WORD, DIGIT = 24, 25

# Flags of a gap; its kind is in the low four bits.
KIND = 15
HAS_PERCENT, ENDED, DOTTED, PARTED, QUESTIONED, OPENED, CLOSED, NEW_LINE, ITEM, GLUED = (1 << k for k in range(4, 14))
FREE, NEGATIVE, POINT, HARD = (1 << k for k in range(14, 18))
"""Contents of a gap: percent sign, end of a sentence, full stop, end of a clause, question mark; opening bracket at its
end, closing bracket at its start; line end; first character as after an item's number; currency sign at its start; a
place at its end where a minus sign may stand; a minus sign, and the point of a number such as .5, before the word; an
operator or a command of mathematics."""
MONEY = 18  # position of the first bit of the currency

_SAYS = np.zeros(32, np.int32)
_SAYS[[PERCENT, DOT, QUESTION, END, LINE]] = HAS_PERCENT, DOTTED, ENDED | QUESTIONED, ENDED, NEW_LINE
_SAYS[OPERATOR] = HARD
_SAYS[[COMMA, COLON, CLAUSE, OPEN, CLOSE]] = PARTED


PADDING = 2 + 8
"""Entries of an array of edges besides one for each byte: those after the last word, and those written at a time."""

_BEFORE_SIGNS = tuple(map(ord, "({=<>≤≥~≈«“|:;,"))
"""Characters after which a hyphen is a minus sign, as it is after a space."""
_AROUND_SIGNS = tuple(map(ord, "*`\"'„"))
"""Quotes and marks of emphasis, which may stand between the space and the sign."""
_EM_DASH = 0x2014

_U0, _U1, _U63, _U64 = (np.uint64(n) for n in (0, 1, 63, BLOCK))
_ALL = np.uint64((1 << 64) - 1)
_SMALL, _CAPITAL, _LETTERS, _ZERO, _DIGITS, _LINE, _HIGH = (np.uint64(n) for n in (97, 65, 26, 48, 10, 95, 128))


class Marks(NamedTuple):
    """Words: their bytes, the gap before and after each word, whether it begins with a digit; text i has the words
    ``bounds[i]:bounds[i + 1]``."""

    starts: Ints
    stops: Ints
    before: Ids
    after: Ids
    digit: Flags
    bounds: Ints


@inline
def is_bracketed(marks: Marks, k: int) -> bool:
    """Whether word ``k`` is a citation like [1]."""
    return marks.before[k] & OPENED != 0 or marks.after[k] & CLOSED != 0


@inline
def is_mark(marks: Marks, k: int) -> bool:
    """Whether word ``k`` is a citation like [1] or the number of a list ite"""
    before, after = marks.before[k], marks.after[k]
    if is_bracketed(marks, k):
        return True
    return before & NEW_LINE != 0 and after & ITEM != 0 and after & KIND == 0 and marks.stops[k] - marks.starts[k] < 3


@inline
def is_beside(marks: Marks, k: int) -> bool:
    """Whether word ``k`` stands beside the word before it, as a unit beside its number."""
    gap = marks.before[k]
    return gap & KIND in (SPACE, HYPHEN, DOT, APOSTROPHE) or gap & (DOTTED | ENDED | PARTED) == DOTTED


@inline
def signed(gap: int, code: int, kind: int) -> int:
    """Return a gap with what its end says of the sign and the point of a number, after the character ``code``."""
    # "-5", "-$5" and "$-5" are negative, but not the ranges "5-7" and "$5-$7": no space or bracket precedes the hyphen.
    of_end = gap & (FREE | NEGATIVE | POINT)
    if kind >= CURRENCY:
        of_end &= ~POINT
    elif kind == HYPHEN:
        of_end = NEGATIVE if of_end & FREE and code != _EM_DASH else 0
    elif kind == DOT:
        of_end = (of_end & NEGATIVE) | POINT if of_end & (FREE | NEGATIVE) else 0
    elif kind in (SPACE, LINE, OPEN) or code in _BEFORE_SIGNS:
        of_end = FREE
    elif code in _AROUND_SIGNS:
        of_end &= FREE
    else:
        of_end = 0
    return (gap & ~(FREE | NEGATIVE | POINT)) | of_end


@inline
def widened(gap: int, code: int, kind: int, length: int) -> int:
    """Return a gap extended by the character ``code`` of class ``kind`` at position ``length``."""
    gap = signed(gap, code, kind)
    # An opening bracket counts only at the end of a gap, so each further character takes it back.
    gap = (gap & ~OPENED) | _SAYS[kind]
    # A kind of its own is for gaps of one character; a second one clears it again.
    if length == 0:
        gap = (gap & ~KIND) | (kind if kind < PERCENT else OTHER)
        if kind >= CURRENCY:
            gap |= GLUED
        elif kind == CLOSE:
            gap |= CLOSED
        # ")" or ".", as after the number of a list item
        elif code in (0x29, 0x2E):
            gap |= ITEM
    else:
        gap &= ~KIND
    if kind == OPEN:
        gap |= OPENED
    if kind >= CURRENCY:
        gap = (gap & ((1 << MONEY) - 1)) | ((kind - CURRENCY) << MONEY)
    return gap


@leaf
def find_words(data: Bytes, begin: int, stop: int, classes: Bytes, edges: Ints) -> int:
    """Write the start and end of each word of the text ``data[begin:stop]`` to ``edges``; return how many there are."""
    n = before = not_ascii = p = _U0
    size = np.uint64(stop - begin)
    if stop + BLOCK > len(data):  # a block of the last text would go past the end of the data
        return find_any_words(data[begin:stop], classes, edges)
    while p < size:
        at = np.uint64(begin) + p
        inside = _ALL >> (_U64 - min(size - p, _U64))  # the bits of bytes that belong to this text
        letters = in_range(data, at, _SMALL, _LETTERS) | in_range(data, at, _CAPITAL, _LETTERS)
        words = (letters | in_range(data, at, _ZERO, _DIGITS) | in_range(data, at, _LINE, _U1)) & inside
        not_ascii |= in_range(data, at, _HIGH, _HIGH) & inside
        # A bit differs from the one before it where a word begins or ends; ``before`` is the last of the block before.
        turns = words ^ ((words << _U1) | before)
        before = words >> _U63
        n = list_bits(turns, p, PLACES, edges, n)
        p += _U64
    if not_ascii != _U0:  # letters of other scripts need the classes of characters: begin again, one by one
        return find_any_words(data[begin:stop], classes, edges)
    edges[n] = np.int64(size)
    return np.int64((n + _U1) >> _U1)


@leaf
def find_any_words(text: Bytes, classes: Bytes, edges: Ints) -> int:
    """Like ``find_words`` of any text."""
    i, n = 0, 0
    while i < len(text):
        code, after = decode(text, i)
        if (classes[code] >= WORD) != (n & 1 == 1):  # n is odd within a word, whose end is still to be written
            edges[n] = i
            n += 1
        i = after
    edges[n] = len(text)
    return (n + 1) >> 1


@leaf
def widen(data: Bytes, classes: Bytes, begin: int, stop: int, gap: int) -> int:
    """Extend a gap by the characters from byte ``begin`` to ``stop``; the start of a text counts as a line end."""
    length = np.int64(gap != 0)
    while begin < stop:
        code, after = np.int64(data[begin]), begin + 1
        if code > 127:
            code, after = decode(data, begin)
        begin = after
        gap = widened(gap, code, np.int64(classes[code]), length)
        length += 1
    return gap


@inline
def gap_between(data: Bytes, classes: Bytes, begin: int, stop: int) -> int:
    """The gap between two words."""
    if stop - begin == 1 and data[begin] == 32:
        return SPACE  # fast path for the most common gap
    return widen(data, classes, begin, stop, 0)


@inline
def gap_before(data: Bytes, classes: Bytes, edges: Ints, w: int, begin: int) -> int:
    """The gap before word ``w`` of the text from byte ``begin`` on."""
    if w == 0:
        return widen(data, classes, begin, begin + edges[0], NEW_LINE | FREE)
    gap = gap_between(data, classes, begin + edges[2 * w - 1], begin + edges[2 * w])
    return gap | sign_of_price(data, classes, edges, w, begin) if gap & GLUED else gap


@leaf
def sign_of_price(data: Bytes, classes: Bytes, edges: Ints, w: int, begin: int) -> int:
    """``NEGATIVE`` if word ``w`` is the 4 of -US$4 or US$-4, with up to three capitals before the currency; else 0."""
    start, end, stop = begin + edges[2 * w - 2], begin + edges[2 * w - 1], begin + edges[2 * w]
    if end - start > 3:
        return 0
    for i in range(start, end):
        if not 65 <= data[i] <= 90:
            return 0
    _, after = decode(data, end)
    if w == 1:
        lead = widen(data, classes, begin, start, NEW_LINE | FREE)
    else:
        lead = gap_between(data, classes, begin + edges[2 * w - 3], start)
    if after < stop:
        code, after = decode(data, after)
        free = lead == SPACE or lead & FREE != 0
        lead = NEGATIVE if free and classes[code] == HYPHEN and code != _EM_DASH else 0
    return lead & NEGATIVE if after == stop else 0


@leaf
def gap_at_end(data: Bytes, classes: Bytes, begin: int, stop: int) -> int:
    """The gap after the last word of a text."""
    # The end of a text counts as a line end, and a gap at it is never one character between two words.
    return (widen(data, classes, begin, stop, 0) & ~(KIND | ITEM)) | NEW_LINE


@leaf
def longest(starts: Ints, stops: Ints) -> int:
    """Number of bytes of the longest text."""
    most = 0
    for row in range(len(starts)):
        most = max(most, stops[row] - starts[row])
    return most


@kernel
def scan(data: Bytes, starts: Ints, stops: Ints, classes: Bytes, marks: Marks) -> int:
    """Find the words of every text; return how many there are."""
    w_starts, w_stops, before, after, digit, bounds = marks
    size = longest(starts, stops)
    edges = np.empty(size + PADDING, np.int64)
    n = 0
    for row in range(len(starts)):
        begin, stop = starts[row], stops[row]
        n_words = find_words(data, begin, stop, classes, edges)
        for w in range(n_words):
            w_starts[n + w], w_stops[n + w] = begin + edges[2 * w], begin + edges[2 * w + 1]
            digit[n + w] = 48 <= data[begin + edges[2 * w]] <= 57
            gap = gap_before(data, classes, edges, w, begin)
            before[n + w] = gap
            if w > 0:
                after[n + w - 1] = gap
        if n_words > 0:
            after[n + n_words - 1] = gap_at_end(data, classes, begin + edges[2 * n_words - 1], stop)
        n += n_words
        bounds[row + 1] = n
    return n


# Stems of words, and whether a word ends like a past-tense verb.


@kernel
def endings(data: Bytes, starts: Ints, stops: Ints, suffixes: Ints, stems: Ints) -> Flags:
    """Write the end of each word's stem to ``stems``, and whether the word ends in "ed" like a past-tense verb.

    ``suffixes`` are the English ones as numbers in base 256, in the order they are tried.
    """
    past = np.zeros(len(starts), np.bool_)
    for word in range(len(starts)):
        begin, end = starts[word], stops[word]
        latin = True
        for k in range(begin, end):
            latin &= 97 <= data[k] <= 122
        past[word] = is_past(data, begin, end)
        stems[word] = stem_latin(data, begin, end, suffixes) if latin else stem_cyrillic(data, begin, end)
    return past


@leaf
def is_past(data: Bytes, begin: int, end: int) -> bool:
    """Whether more than four ASCII characters end in "ed"."""
    # 101 and 100 are "e" and "d"; shorter words, as "red" and "need", often end so by chance.
    if end - begin < 5 or data[end - 2] != 101 or data[end - 1] != 100:
        return False
    ascii = True
    for k in range(begin, end):
        ascii &= data[k] < 128
    return ascii


@leaf
def stem_latin(data: Bytes, begin: int, end: int, suffixes: Ints) -> int:
    """The end of the stem of a lower-case Latin word: one suffix and a doubled last letter are removed.

    Each of ``suffixes`` is its letters as a number to the base 256.
    """
    if end - begin < 4:
        return end
    # "ss" is no plural (115 is "s").
    if not (data[end - 1] == 115 and data[end - 2] == 115):
        for suffix in suffixes:
            size = 1 + (suffix > 255) + (suffix > 65535)
            tail = 0
            for k in range(max(begin, end - size), end):
                tail = tail * 256 + np.int64(data[k])
            # At least three letters are left.
            if tail == suffix and end - begin - size >= 3:
                end -= size
                break
    # "stopped" is "stopp" without its suffix.
    return end - 1 if end - begin > 3 and data[end - 1] == data[end - 2] else end


@leaf
def stem_cyrillic(data: Bytes, begin: int, end: int) -> int:
    """The end of the stem of a Russian word of more than four letters: up to three letters of endings are removed."""
    # Every letter has two bytes, so eight bytes are four letters.
    if (end - begin) % 2:
        return end
    for k in range(begin, end, 2):
        # U+0430 to U+044F are the small letters, but for U+0451 (ё), which counts as one that an ending can have.
        code = (np.int64(data[k]) & 0x1F) << 6 | (np.int64(data[k + 1]) & 0x3F)
        if data[k] not in (0xD0, 0xD1) or not (0x430 <= code <= 0x44F or code == 0x451):
            return end
    for _ in range(3):
        code = (np.int64(data[end - 2]) & 0x1F) << 6 | (np.int64(data[end - 1]) & 0x3F)
        if end - begin <= 8 or not (code == 0x451 or (code >= 0x430 and _ENDING >> (code - 0x430) & 1)):
            break
        end -= 2
    return end


_ENDING = sum(1 << (ord(letter) - 0x430) for letter in "аеиоуыэюяйьмхв")
