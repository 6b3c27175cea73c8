"""What numbers among the words of a text are made of: digits and their groups, scales, per cent, ranges, powers of ten,
currencies, number words and fractions.

A function reads one part at a word; ``kernels.values`` puts the parts together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Floats
from fastmetrics.kernels import located_words as m
from fastmetrics.kernels.folding import decode
from fastmetrics.kernels.jit import inline, leaf
from fastmetrics.kernels.located_words import Marks

# Flags of words.
(
    NOTHING,
    W_NUMBER,
    W_DOZEN,
    W_WEAK,
    W_ORDINAL,
    W_UNIT,
    W_PARTS,
    W_FRACTION,
    W_MINUS,
    W_TWICE,
    W_MONTH,
    W_WEEKDAY,
    W_UNREAD,
    W_CODE,
    W_SCALE,
    W_PERCENT,
    W_PER,
    W_CENT,
    W_HALF_DAY,
    W_CURRENCY,
    W_AND,
    W_ARTICLE,
    W_TO,
    W_QUARTER,
    W_LINK,
    W_OF,
    W_TIMES,
    W_PLUS,
    W_UNCLEAR,
    W_BEFORE,
    W_AFTER,
    W_BETWEEN,
    W_COMPOUND,
    W_HARD,
) = range(34)
"""Those before ``W_SCALE`` can begin a value; those from ``W_OF`` on may make another number of one beside them: the
operations of a number after them (BEFORE: "root of 9"), before them (AFTER: "5 squared") and of two (TIMES, PLUS, and
BETWEEN with a word beside it: "5 to the power of 3"); units that another unit may follow (COMPOUND); and UNCLEAR ones.
A text with a HARD word is read in plain spelling (``text.plain_numbers``), in which an UNREAD word stands for what that
cannot tell."""


def suffix(letters: str) -> int:
    """A suffix as the number that ``digits`` returns."""
    return int.from_bytes(letters.encode(), "big")


E, X = suffix("e"), suffix("x")
EXPONENT, TIMES_TEN = 1 << 40, 1 << 41
"""More than any four letters."""


class WordValues(NamedTuple):
    """The meaning of each word of the texts, and the amount it names."""

    kinds: Bytes
    amounts: Floats


class Grouped(NamedTuple):
    """A number in digits: its digits as an integer, how many are decimals, its letters, the next word."""

    value: int
    decimals: int
    letters: int
    end: int


@inline
def exponent_of(data: Bytes, i: int, stop: int, letters: int) -> int:
    """What ``digits`` returns for a word whose ``letters`` are followed by digits, or by something else, at ``i``."""
    exponent, n = 0, stop - i
    while i < stop and 48 <= data[i] <= 57:
        exponent = exponent * 10 + (np.int64(data[i]) - 48)
        i += 1
    if i < stop or n > 2:
        return -1
    if letters == E:
        return EXPONENT + exponent
    return TIMES_TEN if letters == X and exponent == 10 else -1


@inline
def digits(data: Bytes, i: int, stop: int) -> tuple[int, int, int]:
    """The integer a word begins with, its number of digits, and up to four letters after it as a number in base 256.

    The letters are -1 if the word is not a number: more than 15 digits or four letters, or digits after a letter; but
    those of 5e6 are ``EXPONENT`` and the exponent, and those of 5x10 are ``TIMES_TEN``.
    """
    value, n, letters = 0, 0, 0
    while i < stop and 48 <= data[i] <= 57:
        value = value * 10 + (np.int64(data[i]) - 48)
        n += 1
        i += 1
        if n > 15:
            return 0, n, -1
    if stop - i > 4:
        return value, n, -1
    while i < stop:
        byte = np.int64(data[i])
        if 48 <= byte <= 57 or byte == 95:
            return value, n, exponent_of(data, i, stop, letters)
        letters = letters * 256 + (byte | 32 if byte < 128 else byte)
        i += 1
    return value, n, letters


THOUSANDS = (suffix("k"),)
MILLIONS = tuple(suffix(s) for s in ("m", "mn", "mln"))
BILLIONS = tuple(suffix(s) for s in ("b", "bn", "bln"))
FRACTIONS = tuple(map(suffix, "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"))
"""The characters that may follow a whole number in its word, as in 1½."""
_PARTS = (
    (1, 2),
    (1, 3),
    (2, 3),
    (1, 4),
    (3, 4),
    (1, 5),
    (2, 5),
    (3, 5),
    (4, 5),
    (1, 6),
    (5, 6),
    (1, 8),
    (3, 8),
    (5, 8),
    (7, 8),
)
_FRACTION_VALUES = tuple(part / whole for part, whole in _PARTS)


@inline
def fraction(letters: int) -> float:
    """The value of one of ``FRACTIONS``."""
    value = 0.0
    for place in range(len(FRACTIONS)):
        if FRACTIONS[place] == letters:
            value = _FRACTION_VALUES[place]
    return value


@inline
def is_linked(marks: Marks, k: int) -> bool:
    """Whether a space or a hyphen alone separates word ``k`` from the previous word."""
    return marks.before[k] & m.KIND in (m.SPACE, m.HYPHEN)


@inline
def joined(marks: Marks, k: int, stop: int) -> bool:
    """Whether a space, a hyphen, or a comma or full stop with spaces separates word ``k`` from the previous word."""
    return k < stop and marks.before[k] & (m.ENDED | m.NEW_LINE | m.OPENED | m.CLOSED | m.HAS_PERCENT) == 0


@inline
def plain(data: Bytes, marks: Marks, k: int, stop: int) -> tuple[int, int]:
    """The integer and the number of digits of word ``k`` if it consists of digits, else -1 and 0."""
    if k >= stop or not marks.digit[k]:
        return -1, 0
    value, n, letters = digits(data, marks.starts[k], marks.stops[k])
    return (value, n) if letters == 0 else (-1, 0)


@inline
def indian(data: Bytes, marks: Marks, value: int, n: int, j: int, stop: int) -> tuple[int, int, int, int]:
    """The number of ``n`` digits before word ``j`` with the groups of two digits and the last of three that follow.

    Returns the value, the number of digits, the letters after them, and the next word: ``j`` without such groups.
    """
    whole, size, end = value, n, j
    while end < stop and size < 11 and marks.before[end] & m.KIND == m.COMMA and plain(data, marks, end, stop)[1] == 2:
        whole, size, end = whole * 100 + plain(data, marks, end, stop)[0], size + 2, end + 1
    if end == j or end >= stop or not marks.digit[end] or marks.before[end] & m.KIND != m.COMMA:
        return value, n, np.int64(0), j
    last, three, letters = digits(data, marks.starts[end], marks.stops[end])
    if three != 3 or letters < 0:
        return value, n, np.int64(0), j
    return whole * 1000 + last, size + 3, letters, end + 1


@inline
def grouped(data: Bytes, marks: Marks, k: int, stop: int) -> Grouped:
    """The number in digits at word ``k``.

    1,000 and 1 000 and 1'000, 1.000.000 and 1.000,50 and the Indian 1,00,000 are grouped; .5, 3.5 and 3,5 have
    decimals.
    """
    value, n, letters = digits(data, marks.starts[k], marks.stops[k])
    j = k + 1
    if marks.before[k] & m.POINT:
        return Grouped(value, n, letters, j)
    if letters == 0 and n < 3 and value > 0 and plain(data, marks, j, stop)[1] == 2:
        value, n, letters, j = indian(data, marks, value, n, j, stop)
    if letters == 0 and n <= 3 and value > 0:
        mark = marks.before[j] & m.KIND if j < stop else m.OTHER
        more = mark in (m.COMMA, m.SPACE, m.APOSTROPHE)
        # One full stop is a decimal point, so 1.000 is 1; only 1.000.000 and 1.000,50 are grouped.
        if mark == m.DOT:
            more = j + 1 < stop and marks.digit[j + 1] and marks.before[j + 1] & m.KIND in (m.DOT, m.COMMA)
            more = more and (marks.before[j + 1] & m.KIND == m.COMMA or plain(data, marks, j + 1, stop)[1] == 3)
        while more and letters == 0 and j < stop and marks.digit[j] and marks.before[j] & m.KIND == mark:
            part, size, tail = digits(data, marks.starts[j], marks.stops[j])
            if size != 3 or tail < 0 or value > 10**11:  # 15 digits in all: they are exact as a float
                break
            value, letters = value * 1000 + part, tail
            n += 3
            j += 1
    if letters == 0 and j < stop and marks.digit[j] and marks.before[j] & m.KIND in (m.DOT, m.COMMA):
        part, size, tail = digits(data, marks.starts[j], marks.stops[j])
        if tail >= 0 and n + size <= 15:
            return Grouped(value * 10**size + part, size, tail, j + 1)
    return Grouped(value, np.int64(0), letters, j)


@inline
def is_scale(kind: int) -> bool:
    """Whether a word is a scale."""
    return kind in (W_SCALE, W_UNIT)


@inline
def lone_letter(data: Bytes, marks: Marks, k: int, j: int, stop: int) -> int:
    """The decimals that the letter at word ``j`` takes from the number of word ``k``: "5 k", and of money "$5 M"."""
    if j >= stop or marks.stops[j] - marks.starts[j] != 1 or marks.before[j] & m.KIND != m.SPACE:
        return 0
    letter = data[marks.starts[j]]
    if marks.before[k] >> m.MONEY == 0:
        return 3 if letter == 107 else 0
    letter |= 32
    return 3 if letter == 107 else 6 if letter == 109 else 9 if letter == 98 else 0


@inline
def percents(data: Bytes, i: int) -> int:
    """The decimals of the first sign of per cent or per mille from byte ``i`` on, where there is one."""
    while data[i] != 37 and not (data[i] == 0xE2 and data[i + 1] == 0x80 and data[i + 2] == 0xB0):
        i += 1
    return 2 if data[i] == 37 else 3


@inline
def scaled(
    data: Bytes, marks: Marks, words: WordValues, decimals: int, letters: int, j: int, stop: int
) -> tuple[int, int]:
    """The decimals of a number after a following k, million, percent, % or ‰ is applied, and the next word."""
    # Scales move the decimal point and the value stays an integer until ``shifted`` divides once: "1.1 million" and
    # "1,100,000" are then the same float.
    kinds, amounts = words.kinds, words.amounts
    if letters in THOUSANDS:
        decimals -= 3
    elif letters in MILLIONS:
        decimals -= 6
    elif letters in BILLIONS:
        decimals -= 9
    while j < stop and decimals > -10 and is_scale(kinds[j]) and marks.before[j] & m.KIND in (m.SPACE, m.HYPHEN, m.DOT):
        decimals -= np.int64(amounts[j])
        j += 1
    if marks.after[j - 1] & m.HAS_PERCENT:
        decimals += percents(data, marks.stops[j - 1])
    elif j < stop and kinds[j] == W_PERCENT and is_linked(marks, j):
        decimals, j = decimals + np.int64(amounts[j]), j + 1
    elif j + 1 < stop and kinds[j] == W_PER and kinds[j + 1] == W_CENT:
        decimals, j = decimals + np.int64(amounts[j + 1]), j + 2
    return decimals, j


_DASHES = (0x2D, 0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2212)
_OPERATORS = (0x2A, 0xB7, 0xD7, 0x2219, 0x22C5)
"""The asterisk, the middle dot, the sign of multiplication and the dots of mathematics."""


@leaf
def only_sign(data: Bytes, i: int, stop: int) -> int:
    """The one character that is no space in the gap from byte ``i`` to ``stop``; 0 if there are none or more."""
    sign, n = 0, 0
    while i < stop:
        code, i = decode(data, i)
        if code not in (0x20, 0xA0, 0x202F) and not 0x2000 <= code <= 0x200A:
            sign, n = code, n + 1
    return sign if n == 1 else 0


@leaf
def range_shift(data: Bytes, marks: Marks, words: WordValues, j: int, stop: int) -> int:
    """The decimals that the end of a range at word ``j`` adds to its start, 0 for none: 5-7%, 2–3 million, 5 to 7%.

    "500 to 2 million" and "500 - 2 million" begin with 500.
    """
    spoken = j + 1 < stop and words.kinds[j] == W_TO and is_linked(marks, j) and is_linked(marks, j + 1)
    k = j + 1 if spoken else j
    if k >= stop or not marks.digit[k]:
        return 0
    tight = not spoken and marks.before[j] & m.KIND == m.HYPHEN
    if not (tight or spoken or only_sign(data, marks.stops[j - 1], marks.starts[j]) in _DASHES):
        return 0
    _, decimals, letters, end = grouped(data, marks, k, stop)
    if letters < 0 or letters >= EXPONENT:
        return 0
    shift = scaled(data, marks, words, decimals, letters, end, stop)[0] - decimals
    return shift if shift > 0 or tight else 0


# Powers of ten: 1.5e-6, 1.5×10^6, 1.5 x 10⁻⁶ and 10^6.


@leaf
def superscript(data: Bytes, i: int, stop: int) -> int:
    """The number of one or two superscript digits that a word has from byte ``i`` on; -1 for anything else."""
    value, n = 0, 0
    while i < stop:
        code, i = decode(data, i)
        if code in (0xB9, 0xB2, 0xB3):
            digit = 1 if code == 0xB9 else code - 0xB0
        elif code == 0x2070 or 0x2074 <= code <= 0x2079:
            digit = code - 0x2070
        else:
            return -1
        value, n = value * 10 + digit, n + 1
    return value if 1 <= n <= 2 else -1


@leaf
def exponent_after(data: Bytes, marks: Marks, j: int, stop: int) -> tuple[int, int]:
    """The exponent ^6, **6, ^{-6} or ⁻⁶ directly after word ``j - 1``, and the next word: ``j`` if there is none."""
    if j >= stop:
        return 0, j
    i, end, negative = marks.stops[j - 1], marks.starts[j], False
    code, after = decode(data, i)
    if code == 0x207B and after == end:
        value = superscript(data, end, marks.stops[j])
        return (-value, j + 1) if value >= 0 else (0, j)
    if code == 94:
        i += 1
    elif code == 42 and data[i + 1] == 42:
        i += 2
    else:
        return 0, j
    if i < end and data[i] in (40, 123):  # ( and {
        i += 1
    if i < end:
        code, after = decode(data, i)
        if code in (43, 45, 0x2212):
            i, negative = after, code != 43
    value, n = plain(data, marks, j, stop)
    if i != end or n == 0 or n > 2:
        return 0, j
    return -value if negative else value, j + 1


@leaf
def power_of_ten(data: Bytes, marks: Marks, k: int, stop: int) -> tuple[int, int]:
    """The exponent of the power of ten at word ``k``, and the next word: ``k`` if there is none."""
    start, end = marks.starts[k], marks.stops[k]
    if end - start < 2 or data[start] != 49 or data[start + 1] != 48:
        return 0, k
    if end - start > 2:
        exponent = superscript(data, start + 2, end)
        return (exponent, k + 1) if exponent >= 0 else (0, k)
    exponent, j = exponent_after(data, marks, k + 1, stop)
    return (exponent, j) if j > k + 1 else (0, k)


@leaf
def times_power(data: Bytes, marks: Marks, words: WordValues, letters: int, j: int, stop: int) -> tuple[int, int]:
    """The exponent of e-6, ×10^6 or the like after a number up to word ``j``, and the next word: ``j`` without one."""
    if letters == TIMES_TEN:
        return exponent_after(data, marks, j, stop)
    if j >= stop:
        return 0, j
    gap = marks.stops[j - 1]
    if letters == E:
        value, n = plain(data, marks, j, stop)
        plus = data[gap] == 43 and marks.starts[j] == gap + 1
        if not 1 <= n <= 2 or not (plus or marks.before[j] & m.KIND == m.HYPHEN):
            return 0, j
        return value if plus else -value, j + 1
    k = j
    if words.kinds[j] == W_TIMES and joined(marks, j, stop):
        k = j + 1
        if not joined(marks, k, stop):
            return 0, j
    elif not marks.digit[j] or only_sign(data, gap, marks.starts[j]) not in _OPERATORS:
        return 0, j
    exponent, end = power_of_ten(data, marks, k, stop)
    return (exponent, end) if end > k else (0, j)


# The currency of a number, and its value.


@inline
def money(marks: Marks, words: WordValues, k: int, j: int, stop: int) -> tuple[int, int]:
    """The currency of a number from word ``k`` to ``j``, 0 for none, and the next word."""
    before, after = marks.before[k], marks.after[j - 1]
    if j < stop and words.kinds[j] == W_CURRENCY and after & m.KIND in (m.SPACE, m.HYPHEN):
        return np.int64(words.amounts[j]), j + 1
    if before >> m.MONEY and not before & m.GLUED:
        return before >> m.MONEY, j
    if after >> m.MONEY and (after & m.GLUED or j >= stop or not marks.digit[j]):
        return after >> m.MONEY, j
    return 0, j


@inline
def shifted(value: float, decimals: int) -> float:
    """``value`` / 10**``decimals``, rounded once: equal decimals give equal floats."""
    power = 10.0 ** np.float64(abs(decimals))
    return value / power if decimals >= 0 else value * power


# Number words: two thousand and five, half a million, three quarters.


@inline
def room_below(amount: float) -> float:
    """What may follow a number word as part of the same number is less than this: five after twenty, but not ten."""
    return 100.0 if amount >= 100 else 10.0 if amount >= 20 and amount % 10 == 0 else 0.0


@inline
def is_counted(kind: int) -> bool:
    """Whether a word is a cardinal or an ordinal number."""
    return kind in (W_NUMBER, W_WEAK, W_ORDINAL)


@leaf
def spelled(marks: Marks, words: WordValues, k: int, stop: int) -> tuple[float, bool, int]:
    """The number that the words from ``k`` on spell, whether it is weak, and the next word."""
    kinds, amounts = words.kinds, words.amounts
    weak, j = kinds[k] in (W_WEAK, W_UNIT), k + 1
    # ``total`` is of scales that are complete, as two thousand, and ``group`` of the words after them
    total, group, scale = 0.0, amounts[k], 15.0
    if kinds[k] == W_UNIT:
        group, j = 1.0, k
    elif group == 0.5 and j + 1 < stop and kinds[j] == W_ARTICLE and is_linked(marks, j) and is_linked(marks, j + 1):
        j += np.int64(is_scale(kinds[j + 1]) or kinds[j + 1] == W_DOZEN)  # half a million
    room, complete = room_below(group), j
    before = total + group
    while j < stop and (j == k or (is_linked(marks, j) and kinds[j - 1] != W_ORDINAL)):
        at, kind, amount = j, kinds[j], amounts[j]
        if kind == W_AND and room >= 100 and j + 1 < stop and is_linked(marks, j + 1):
            at, kind, amount = j + 1, kinds[j + 1], amounts[j + 1]
        if is_counted(kind) and 1 <= amount < room and amount % 1 == 0:
            group, room, j = group + amount, room_below(amount), at + 1
            continue
        if at > j or not is_scale(kind):
            break
        if amount == 2 and 0 < group < 100:
            group, room = group * 100, 100.0
        elif 2 < amount < scale and group > 0:
            total, group, room, scale = total + group * 10.0**amount, 0.0, 1000.0, amount
        else:
            # "one hundred and two hundred" are two numbers, and "two thousand billion" is one
            if j > complete > k:
                return before, False, complete
            break
        j += 1
        before, complete = total + group, j
    value = total + group
    if j < stop and j > k and is_linked(marks, j):
        if kinds[j] == W_PARTS and kinds[j - 1] != W_ORDINAL:
            return value / amounts[j], False, j + 1
        if value == 1 and j == k + 1 and kinds[j] == W_ORDINAL and marks.after[j] & m.KIND != m.HYPHEN:
            return value / amounts[j], False, j + 1  # one third
    return value, weak and j == k + 1, j


@leaf
def part_after(marks: Marks, words: WordValues, j: int, stop: int) -> tuple[float, int]:
    """The fraction of "and a half" or "and three quarters" at word ``j``, and the next word; 0 if there is none."""
    kinds, amounts, i = words.kinds, words.amounts, j + 1
    if i >= stop or kinds[j] != W_AND or not (is_linked(marks, j) and is_linked(marks, i)):
        return 0.0, j
    if kinds[i] == W_ARTICLE:
        i += 1
        if i >= stop or not is_linked(marks, i):
            return 0.0, j
    if kinds[i] == W_WEAK and amounts[i] == 0.5:
        return 0.5, i + 1
    if kinds[i] == W_PARTS or (kinds[i] == W_ORDINAL and i > j + 1):
        return 1 / amounts[i], i + 1
    more = i + 1 < stop and is_linked(marks, i + 1) and kinds[i + 1] == W_PARTS
    if more and kinds[i] in (W_NUMBER, W_WEAK) and 1 <= amounts[i] < amounts[i + 1]:
        return amounts[i] / amounts[i + 1], i + 2
    return 0.0, j


@leaf
def mixed_part(data: Bytes, marks: Marks, j: int, stop: int) -> float:
    """The fraction of the mixed number whose 1/2 is at word ``j``, as in "1 1/2"; 0 if there is none."""
    if j + 1 >= stop or marks.before[j] & m.KIND != m.SPACE or marks.before[j + 1] & m.KIND != m.SLASH:
        return 0.0
    part, n_part = plain(data, marks, j, stop)
    whole, n_whole = plain(data, marks, j + 1, stop)
    dated = j + 2 < stop and marks.before[j + 2] & m.KIND == m.SLASH
    return part / whole if 0 < part < whole and n_part <= 2 and n_whole <= 2 and not dated else 0.0
