"""Numbers, dates and times among the words of a text, in the formats that people write."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Floats, Ids, Ints
from fastmetrics.kernels import located_words as m
from fastmetrics.kernels.folding import decode
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.located_words import Marks

# Parsing of numbers from words in the usual formats: digits, separators, scales, currencies, number words.


# Flags of words.
(
    NOTHING,
    W_NUMBER,
    W_WEAK,
    W_ORDINAL,
    W_UNIT,
    W_PARTS,
    W_FRACTION,
    W_MINUS,
    W_MONTH,
    W_WEEKDAY,
    W_SCALE,
    W_PERCENT,
    W_PER,
    W_CENT,
    W_HALF_DAY,
    W_CURRENCY,
    W_OF,
    W_AND,
    W_ARTICLE,
    W_TIMES,
    W_TO,
) = range(21)
"""Those before ``W_SCALE`` can begin a value."""


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
    while (
        j < stop
        and decimals > -10
        and kinds[j] in (W_SCALE, W_UNIT)
        and marks.before[j] & m.KIND in (m.SPACE, m.HYPHEN, m.DOT)
    ):
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


@inline
def room_below(amount: float) -> float:
    """What may follow a number word as part of the same number is less than this: five after twenty, but not ten."""
    return 100.0 if amount >= 100 else 10.0 if amount >= 20 and amount % 10 == 0 else 0.0


@inline
def is_scale(kind: int) -> bool:
    """Whether a word is a scale."""
    return kind in (W_SCALE, W_UNIT)


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
        j += np.int64(is_scale(kinds[j + 1]))  # half a million
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


@inline
def is_mark(marks: Marks, k: int) -> bool:
    """Whether word ``k`` is a citation like [1] or the number of a list item."""
    before, after = marks.before[k], marks.after[k]
    if before & m.OPENED or after & m.CLOSED:
        return True
    return (
        before & m.NEW_LINE != 0
        and after & m.ITEM != 0
        and after & m.KIND == 0
        and marks.stops[k] - marks.starts[k] < 3
    )


# Fast selection of the few words of a text that numbers and dates can consist of.


NEITHER, FOLLOWS, BEGINS = 0, 1, 2
"""Role of a word: it can begin a value, only continue a value, or neither."""


UNEQUAL, FULL = -1, -2

_U1 = np.uint64(1)


class Strings(NamedTuple):
    """The bytes of texts, and the ids of their words."""

    data: Bytes
    starts: Ints
    stops: Ints
    ids: Ids
    first: Ints


class WordSenses(NamedTuple):
    """The role of each word of the vocabulary, and its meaning as part of a value; see ``numbers.WordValues``."""

    worth: Bytes
    kinds: Bytes
    amounts: Floats


class Picked(NamedTuple):
    """The selected words: their marks, meanings, and positions among all words of all texts."""

    marks: Marks
    values: WordValues
    places: Ints


@kernel
def pick(strings: Strings, counts: Ints, classes: Bytes, senses: WordSenses, picked: Picked) -> int:
    """Select the words that begin a value, its continuations, and the next word; return how many.

    Returns ``UNEQUAL`` if a text has fewer or more words than ``counts`` says, ``FULL`` if ``picked`` has too little
    room.
    """
    starts, stops, bounds = strings.starts, strings.stops, picked.marks.bounds
    size = m.longest(starts, stops)
    edges = np.empty(size + m.PADDING, np.int64)
    n, total = 0, 0
    for row in range(len(starts)):
        if m.find_words(strings.data, starts[row], stops[row], classes, edges) != counts[row]:
            return UNEQUAL
        if n + counts[row] > len(picked.places):
            return FULL
        n = pick_of_text(strings, row, counts[row], total, edges, classes, senses, picked, n)
        total += counts[row]
        bounds[row + 1] = n
    return n


@leaf
def pick_of_text(
    strings: Strings,
    row: int,
    n_words: int,
    total: int,
    edges: Ints,
    classes: Bytes,
    senses: WordSenses,
    picked: Picked,
    n: int,
) -> int:
    """Add the selected words of one text to the ``n`` in ``picked``; return their number.

    The text has ``n_words`` words, whose ``edges`` are in bytes, and ``total`` come before it; ``classes`` are those of
    all characters.
    """
    data, begin, stop = strings.data, strings.starts[row], strings.stops[row]
    w_starts, w_stops, before, after, digit, _ = picked.marks
    first, at, live = np.uint64(strings.first[row]), np.uint64(n), False
    for w in range(np.uint64(n_words)):
        word = np.uint32(strings.ids[first + w])
        if not live and senses.worth[word] != BEGINS:  # ``live``: the word before is picked and may go on here
            continue
        edge = w << _U1
        w_starts[at], w_stops[at] = begin + edges[edge], begin + edges[edge + _U1]
        digit[at] = 48 <= data[np.uint64(w_starts[at])] <= 57
        before[at] = after[at - _U1] if live else m.gap_before(data, classes, edges, np.int64(w), begin)
        if w + _U1 < np.uint64(n_words):
            after[at] = m.gap_before(data, classes, edges, np.int64(w + _U1), begin)
        else:
            after[at] = m.gap_at_end(data, classes, w_stops[at], stop)
        picked.values.kinds[at], picked.values.amounts[at] = senses.kinds[word], senses.amounts[word]
        picked.places[at] = total + np.int64(w)
        live = senses.worth[word] != NEITHER
        at += _U1
    return np.int64(at)


# Parsing of dates and times from words: ISO, European and American formats, month names, 12- and 24-hour clocks.


AM, PM = suffix("am"), suffix("pm")
ORDINALS = tuple(suffix(s) for s in ("st", "nd", "rd", "th"))


@inline
def day_or_ordinal(data: Bytes, marks: Marks, k: int, stop: int) -> int:
    """The day of the month in word ``k`` (5, 5th), else 0."""
    if k >= stop or not marks.digit[k]:
        return 0
    value, n, letters = digits(data, marks.starts[k], marks.stops[k])
    return value if n <= 2 and 1 <= value <= 31 and (letters == 0 or letters in ORDINALS) else 0


@inline
def year_at(data: Bytes, marks: Marks, k: int, stop: int) -> int:
    """The four-digit year in word ``k``, else 0; numbers like 2010.5 or 2010:30 are not years."""
    value, n = plain(data, marks, k, stop)
    return value if n == 4 and value >= 1000 else 0


@inline
def is_stamped(data: Bytes, marks: Marks, k: int, stop: int) -> bool:
    """Whether word ``k`` is the 05T10 of 2024-01-05T10:30:00Z."""
    if k >= stop or not marks.digit[k] or marks.stops[k] - marks.starts[k] != 5:
        return False
    i = marks.starts[k]
    return 48 <= data[i + 1] <= 57 and data[i + 2] | 32 == 116 and 48 <= data[i + 3] <= 57 and 48 <= data[i + 4] <= 57


@inline
def numeric_date(data: Bytes, marks: Marks, k: int, stop: int) -> tuple[int, int]:
    """2024-01-05, 2024/01/05, 5.1.2024, 05/01/2024, 1-5-24 at word ``k``: both readings, 0 if there is none."""
    x, nx = plain(data, marks, k, stop)
    y, ny = plain(data, marks, k + 1, stop)
    z, nz = plain(data, marks, k + 2, stop)
    if is_stamped(data, marks, k + 2, stop) and nx == 4:
        z, nz = digits(data, marks.starts[k + 2], marks.starts[k + 2] + 2)[0], 2
    if nx == 0 or ny == 0 or nz == 0 or ny > 2:
        return 0, -1
    mark = marks.before[k + 1] & m.KIND
    if mark != marks.before[k + 2] & m.KIND or mark not in (m.HYPHEN, m.SLASH, m.DOT):
        return 0, -1
    # A year of four digits comes first only in ISO dates, which have one reading.
    if nx == 4 and nz <= 2 and 1 <= y <= 12 and 1 <= z <= 31:
        return x * 10000 + y * 100 + z, -1
    if nx > 2 or nz not in (2, 4):
        return 0, -1
    year = z if nz == 4 else z + (2000 if z < 50 else 1900)
    # 05/01/2024 is 5 January in Europe and 1 May in America: both readings are kept, and either may be supported.
    european = year * 10000 + y * 100 + x if 1 <= y <= 12 and 1 <= x <= 31 else 0
    american = year * 10000 + x * 100 + y if 1 <= x <= 12 and 1 <= y <= 31 and mark != m.DOT else 0
    if european == 0:
        return american, -1
    return european, american if american > 0 and american != european else -1


@inline
def named_date(data: Bytes, marks: Marks, words: WordValues, k: int, stop: int) -> tuple[int, int]:
    """5 January 2024, January 5th, 2024, January 2024 at word ``k``: the date, 0 if none; the next word."""
    kinds = words.kinds
    day = day_or_ordinal(data, marks, k, stop)
    j = k
    if day > 0:
        j = k + 1
        if joined(marks, j, stop) and kinds[j] == W_OF:
            j += 1
        if not joined(marks, j, stop):
            return 0, k
    if kinds[j] != W_MONTH:
        return 0, k
    month = np.int64(words.amounts[j])
    j += 1
    if day == 0 and joined(marks, j, stop):
        day = day_or_ordinal(data, marks, j, stop)
        j += np.int64(day > 0)
    year = year_at(data, marks, j, stop) if joined(marks, j, stop) else 0
    return year * 10000 + month * 100 + day, j + np.int64(year > 0)


@inline
def is_dotted(data: Bytes, marks: Marks, j: int, stop: int) -> bool:
    """Whether words ``j`` and the next are "a.m." or "p.m."."""
    if j + 1 >= stop or marks.stops[j] - marks.starts[j] != 1 or marks.stops[j + 1] - marks.starts[j + 1] != 1:
        return False
    if marks.before[j + 1] & m.KIND != m.DOT or data[marks.starts[j + 1]] | 32 != 109:
        return False
    return data[marks.starts[j]] | 32 in (97, 112)


@inline
def clock_time(data: Bytes, marks: Marks, words: WordValues, k: int, stop: int) -> tuple[int, int, int]:
    """3 pm, 3:30 p.m., 15:00:20 at word ``k``: minutes or -1, 1 if perhaps 12 hours later, the next word."""
    hour, n, letters = digits(data, marks.starts[k], marks.stops[k])
    half, minute, j, clock = -1, 0, k + 1, False
    if n > 2 or letters < 0:
        return -1, 0, k
    if letters == 0 and j < stop and marks.digit[j] and marks.before[j] & m.KIND == m.COLON:
        minute, n, letters = digits(data, marks.starts[j], marks.stops[j])
        if n != 2 or letters < 0 or minute > 59:
            return -1, 0, k
        clock = True
        j += 1
        if letters == 0 and j < stop and marks.digit[j] and marks.before[j] & m.KIND == m.COLON:
            _, n, seconds = digits(data, marks.starts[j], marks.stops[j])
            if n == 2 and seconds >= 0:
                letters = seconds
                j += 1
    if letters in (AM, PM):
        half = letters == PM
    elif letters == 0 and j < stop and words.kinds[j] == W_HALF_DAY and marks.before[j] & m.KIND == m.SPACE:
        half = np.int64(words.amounts[j])
        j += 1
    elif letters == 0 and is_dotted(data, marks, j, stop):
        half = np.int64(data[marks.starts[j]] | 32 == 112)
        j += 2
    if hour > 23 or (half >= 0 and (hour > 12 or hour == 0)) or (half < 0 and not clock):
        return -1, 0, k
    if half >= 0:
        hour = hour % 12 + 12 * half
    return hour * 60 + minute, np.int64(half < 0 and 1 <= hour <= 12), j


@inline
def may_be_verb(byte: int, date: int) -> bool:
    """Whether a month's name can be a verb: in lower-case Latin letters ("march"), or "May"."""
    return 97 <= byte <= 122 or (date == 500 and byte == 77)


# Numbers, dates and times found among words, in any format.
#
# A value is a kind and two numbers: NUMBER (value, currency), DATE (year·10⁴ + month·100 + day with 0 for a missing
# part, the same with day and month exchanged or -1), TIME (minutes since midnight, 1 if 12 hours later is possible
# too), WEEKDAY (1 to 7, 0).


NUMBER, DATE, TIME, WEEKDAY, WEAK = (np.int64(kind) for kind in range(1, 6))  # typed: one signature
"""A WEAK number can support other values and requires no support: "one", "first", the year and day of a date."""


class ParsedNumber(NamedTuple):
    """A number in a text: kind or 0, value, currency, next word."""

    kind: int
    value: float
    currency: float
    end: int


class Values(NamedTuple):
    """The found values: kind, both numbers, first word, end word (exclusive)."""

    kinds: Bytes
    a: Floats
    b: Floats
    first: Ints
    last: Ints
    bounds: Ints


@inline
def fraction(letters: int) -> float:
    """The value of one of ``FRACTIONS``."""
    value = 0.0
    for place in range(len(FRACTIONS)):
        if FRACTIONS[place] == letters:
            value = _FRACTION_VALUES[place]
    return value


@inline
def signed(marks: Marks, k: int, value: float) -> float:
    """The value of the number at word ``k`` with the sign before it."""
    return -value if marks.before[k] & m.NEGATIVE else value


@inline
def is_priced(marks: Marks, k: int) -> bool:
    """Whether a space and the sign of a currency are before word ``k``, as in "minus $5"."""
    gap = marks.before[k]
    return gap >> m.MONEY != 0 and gap & (m.FREE | m.POINT) != 0 and gap & (m.NEGATIVE | m.PARTED | m.NEW_LINE) == 0


@leaf
def mixed_part(data: Bytes, marks: Marks, j: int, stop: int) -> float:
    """The fraction of the mixed number whose 1/2 is at word ``j``, as in "1 1/2"; 0 if there is none."""
    if j + 1 >= stop or marks.before[j] & m.KIND != m.SPACE or marks.before[j + 1] & m.KIND != m.SLASH:
        return 0.0
    part, n_part = plain(data, marks, j, stop)
    whole, n_whole = plain(data, marks, j + 1, stop)
    dated = j + 2 < stop and marks.before[j + 2] & m.KIND == m.SLASH
    return part / whole if 0 < part < whole and n_part <= 2 and n_whole <= 2 and not dated else 0.0


@inline
def number_at(data: Bytes, marks: Marks, words: WordValues, k: int, stop: int) -> ParsedNumber:
    """The number at word ``k``; the kind is 0 if there is none."""
    decimals, letters = 0, 0
    if not marks.digit[k]:
        if words.kinds[k] == W_PARTS:
            return ParsedNumber(WEAK, 1 / words.amounts[k], 0.0, k + 1)
        if words.kinds[k] == W_FRACTION:
            return ParsedNumber(NUMBER, signed(marks, k, words.amounts[k]), 0.0, k + 1)
        value, weak, j = spelled(marks, words, k, stop)
        if weak and words.kinds[k] == W_UNIT:  # "several million dollars" need no support as one million
            return ParsedNumber(WEAK, signed(marks, k, value), 0.0, j)
    else:
        exponent, j = power_of_ten(data, marks, k, stop)
        if j > k:
            whole, decimals = 1, -exponent
        else:
            whole, decimals, letters, j = grouped(data, marks, k, stop)
            if letters >= EXPONENT and letters != TIMES_TEN:
                decimals, letters = decimals - (letters - EXPONENT), 0
            elif letters in (0, E, TIMES_TEN):
                exponent, end = times_power(data, marks, words, letters, j, stop)
                if end > j:
                    decimals, letters, j = decimals - exponent, 0, end
        if letters < 0 or letters == TIMES_TEN:
            return ParsedNumber(np.int64(0), 0.0, 0.0, k + 1)
        value, weak = np.float64(whole), False
        if decimals == 0 and letters in FRACTIONS:
            value, letters = value + fraction(letters), 0
        if decimals == 0 and letters == 0 and j < stop and marks.before[j] & m.KIND == m.SLASH:
            part, n = plain(data, marks, j, stop)
            if n > 0 and part > 0:
                return ParsedNumber(NUMBER, signed(marks, k, value / part), 0.0, j + 1)
        if decimals == 0 and letters == 0 and j < stop:
            if words.kinds[j] == W_FRACTION and is_linked(marks, j):
                value, j = value + words.amounts[j], j + 1
            elif marks.digit[j] and whole < 1000:
                part = mixed_part(data, marks, j, stop)
                value, j = value + part, j + 2 * np.int64(part > 0)
    if decimals == 0 and letters == 0 and j < stop and words.kinds[j] == W_AND:
        part, j = part_after(marks, words, j, stop)
        value += part
    own, at = decimals, j
    decimals, j = scaled(data, marks, words, decimals, letters, j, stop)
    if decimals == own and j == at and marks.digit[k]:
        decimals += range_shift(data, marks, words, j, stop)
    currency, j = money(marks, words, k, j, stop)
    kind = WEAK if weak and j == k + 1 else NUMBER  # "one" is weak, "one million" and "one euro" are not
    return ParsedNumber(kind, signed(marks, k, shifted(value, decimals)), np.float64(currency), j)


@inline
def put(values: Values, n: int, kind: int, a: float, b: float, first: int, last: int) -> int:
    """Add a value; return the number of values."""
    values.kinds[n], values.a[n], values.b[n] = kind, a, b
    values.first[n], values.last[n] = first, last
    return n + 1


@inline
def date_at(data: Bytes, marks: Marks, words: WordValues, k: int, stop: int, values: Values, n: int) -> tuple[int, int]:
    """Add the date at word ``k``, if any, with its year and day as weak numbers; return number of values, next word."""
    date, other, j = 0, -1, k
    if marks.digit[k]:
        date, other = numeric_date(data, marks, k, stop)
        j = k + 3
    if date == 0:
        date, j = named_date(data, marks, words, k, stop)
    if date == 0 or (date < 10000 and date % 100 == 0 and may_be_verb(data[marks.starts[k]], date)):
        return n, k
    n = put(values, n, DATE, np.float64(date), np.float64(other), k, j)
    for part in (date // 10000, date % 100):  # "in 2024" is supported by a date of that year
        if part > 0:
            n = put(values, n, WEAK, np.float64(part), 0.0, k, j)
    if j == k + 3 and marks.digit[k] and is_stamped(data, marks, k + 2, stop):
        hour, minute = digits(data, marks.stops[k + 2] - 2, marks.stops[k + 2])[0], 0
        if j < stop and marks.digit[j] and marks.before[j] & m.KIND == m.COLON:
            minute = digits(data, marks.starts[j], marks.stops[j])[0]
        while j < stop and marks.digit[j] and marks.starts[j] == marks.stops[j - 1] + 1:  # seconds and time zone
            j += 1
        if hour < 24 and minute < 60:
            n = put(values, n, TIME, np.float64(hour * 60 + minute), 0.0, k + 2, j)
    return n, j


@inline
def value_at(
    data: Bytes, marks: Marks, words: WordValues, k: int, stop: int, values: Values, n: int
) -> tuple[int, int]:
    """Add the value at word ``k``, if there is one; return the number of values and the next word."""
    kinds, digit = words.kinds, marks.digit[k]
    if kinds[k] == W_WEEKDAY:
        return put(values, n, WEEKDAY, words.amounts[k], 0.0, k, k + 1), k + 1
    # A number begins a date if a month's name or "of" follows it, or a mark that dates have; only then the slow parsers
    # of dates are tried.
    linked = marks.before[k + 1] & m.KIND if k + 1 < stop else m.OTHER
    follows = kinds[k + 1] if k + 1 < stop else NOTHING
    dated = follows in (W_MONTH, W_OF) or linked in (m.HYPHEN, m.SLASH, m.DOT)
    if kinds[k] == W_MONTH or (digit and dated):
        n, j = date_at(data, marks, words, k, stop, values, n)
        if j > k or kinds[k] == W_MONTH:
            return n, max(j, k + 1)
    if kinds[k] == W_MINUS:
        if (
            k + 1 < stop
            and (is_linked(marks, k + 1) or is_priced(marks, k + 1))
            and (marks.digit[k + 1] or kinds[k + 1] in (W_NUMBER, W_WEAK, W_FRACTION))
        ):
            number = number_at(data, marks, words, k + 1, stop)
            if number.kind > 0:
                n = put(values, n, NUMBER, -number.value, number.currency, k, number.end)
                return n, number.end
        return n, k + 1
    if digit:
        minutes, either, j = clock_time(data, marks, words, k, stop)
        if minutes >= 0:
            return put(values, n, TIME, np.float64(minutes), np.float64(either), k, j), j
    number = number_at(data, marks, words, k, stop)
    if number.kind > 0 and not (digit and is_mark(marks, k)):
        n = put(values, n, number.kind, number.value, number.currency, k, number.end)
    j = number.end
    if j < stop and kinds[j] == W_MINUS and is_linked(marks, j):  # "10 minus 5" has no number -5
        j += 1
    return n, j


@inline
def is_bare(
    data: Bytes, kinds: Bytes, before: Ids, after: Ids, digit: Flags, starts: Ints, stops: Ints, k: int, stop: int
) -> bool:
    """Whether the words and gaps around a number leave its value unchanged: a fast test of the common case.

    Of word k, ``kinds[k]`` is the kind, ``before[k]`` and ``after[k]`` are the gaps around it, ``digit[k]`` says
    whether it begins with a digit, and ``data[starts[k]:stops[k]]`` are its bytes.
    """
    gaps = (before[k] & (m.OPENED | m.NEW_LINE | m.NEGATIVE | m.POINT)) | (after[k] & (m.CLOSED | m.HAS_PERCENT))
    if gaps or before[k] >> m.MONEY or after[k] >> m.MONEY:
        return False
    j = k + 1
    if j == stop:
        return True
    if kinds[j] != NOTHING or stops[j] - starts[j] == 1:
        return False
    # of gaps of several characters, one that begins so is no part of 5 × 10^6 or 10⁻⁶
    apart, byte = after[k] & m.KIND == m.OTHER, data[stops[k]]
    return apart and byte in (44, 59) if digit[j] else not apart or byte < 128


@leaf
def find_values(data: Bytes, marks: Marks, words: WordValues, values: Values) -> int:
    """Find the values of every text in order; return how many there are."""
    starts, stops, before, after, digit, bounds = marks
    kinds, amounts = words
    v_kinds, v_a, v_b, v_first, v_last, v_bounds = values
    n = v_bounds[0]
    for row in range(len(bounds) - 1):
        k, stop = bounds[row], bounds[row + 1]
        while k < stop:
            kind = kinds[k]
            if not digit[k] and (kind == NOTHING or kind >= W_SCALE):
                k += 1
                continue
            # Most numbers are a word of digits between spaces: their value needs none of the parsers.
            if kind <= W_ORDINAL and is_bare(data, kinds, before, after, digit, starts, stops, k, stop):
                number, letters = amounts[k], 0
                if digit[k]:
                    whole, _, letters = digits(data, starts[k], stops[k])
                    number = np.float64(whole)
                if letters == 0:
                    v_kinds[n], v_a[n], v_b[n] = WEAK if kind == W_WEAK else NUMBER, number, 0.0
                    v_first[n], v_last[n] = k, k + 1
                    n += 1
                    k += 1
                    continue
            n, k = value_at(data, marks, words, k, stop, values, n)
        v_bounds[row + 1] = n
    return n


@leaf
def place(values: Values, n: int, places: Ints) -> None:
    """Turn the words of the first ``n`` values, which are numbers in ``places``, into what ``places`` has for them."""
    for v in range(np.uint64(n)):
        values.first[v] = places[np.uint64(values.first[v])]
        values.last[v] = places[np.uint64(values.last[v] - 1)] + 1
